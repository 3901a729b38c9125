package redisstore_test

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"github.com/foldgate/foldgate/redisstore"
)

func TestMain(m *testing.M) {
	redisstore.SetClientLogger(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}
