package middleware

import (
	"net/http"
	"testing"
)

// Replicas of different builds share a store: what names a conversation stays. A
// second naming by the same tenancy shows that nothing of the first is left in it.
func TestNamesOfConversationsStay(t *testing.T) {
	t.Parallel()
	tenants := newTenancy("x-team", []byte("secret"))
	for range 2 {
		for _, tt := range []struct {
			name   string
			header http.Header
			want   string
		}{
			{"nobody", http.Header{}, "2f61ef9924ad4659acdd5a5252b4fdf51614b501"},
			{"a credential", http.Header{"Authorization": {"Bearer a"}}, "317d484379c8ec7ce588b86ac3532a72f8717d16"},
			{"two, one of two values", http.Header{"Api-Key": {"1", "2"}, "X-Api-Key": {"3"}}, "1f36384f5e4a2166b64554f0b1c84658091913aa"},
			{"the tenant header", http.Header{"X-Team": {"red"}, "Authorization": {"Bearer a"}}, "1046f91bd61e7c4c75bbd51c18663b03efeb7258"},
		} {
			if got := string(idKey(tenants.of(tt.header), "plan")); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
			}
		}
	}
}
