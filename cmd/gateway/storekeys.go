package main

import (
	"fmt"

	"github.com/foldgate/foldgate/cmd/gateway/internal/config"
	"github.com/foldgate/foldgate/redisstore"
)

// storeKeys are the keys that encrypt handoffs; nil: none are. They were checked with
// the rest of the configuration.
func storeKeys(c config.Config) (*redisstore.Keys, error) {
	if c.StoreKeys == "" {
		return nil, nil
	}
	keys, err := redisstore.ParseKeys(string(c.StoreKeys))
	if err != nil {
		return nil, fmt.Errorf("read the keys of the store: %w", err)
	}
	return keys, nil
}

// useStoreKeys has the shared store, if there is one, go by a reload's keys. They are
// the store's own, which all editions share: an attempt that began before writes with
// the new ones, as whoever reads it will expect.
func (g *gateway) useStoreKeys(c config.Config) error {
	if g.sealing == nil || c.StoreKeys == g.now().config.StoreKeys {
		return nil
	}
	keys, err := storeKeys(c)
	if err == nil {
		g.sealing.SetKeys(keys)
	}
	return err
}
