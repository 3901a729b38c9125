package admin

import (
	_ "embed" // for the page
	"net/http"
)

// index is the plane's first page. It holds no data, no script and no style.
//
//go:embed index.html
var index []byte

func (p *plane) page(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, "text/html; charset=utf-8", index)
}
