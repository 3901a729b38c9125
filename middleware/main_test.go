package middleware_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/foldgate/foldgate/internal/contracttest"
)

// described is openapi.yaml: whatever a gateway of these tests answers is held
// against it.
var described = contracttest.MustLoad()

// TestMain also fails a whole run in which the document's data plane was not
// seen as a whole.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { described.Exit(contracttest.DataPlane, code) }))
}
