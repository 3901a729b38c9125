package redact_test

import (
	"fmt"

	"github.com/foldgate/foldgate/compression/redact"
)

func ExampleText() {
	fmt.Println(redact.Text("DB_HOST=db.internal\nDB_PASSWORD=hunter2\nurl: postgres://bob:hunter2@db.internal/app"))
	fmt.Println(redact.Text(`{"max_tokens": 4096, "password": "hunter2", "commit": "9fceb02d0ae598e95dc970b74767f19372d61af8"}`))
	// Output:
	// DB_HOST=db.internal
	// DB_PASSWORD=[redacted]
	// url: postgres://bob:[redacted]@db.internal/app
	// {"max_tokens": 4096, "password": "[redacted]", "commit": "9fceb02d0ae598e95dc970b74767f19372d61af8"}
}
