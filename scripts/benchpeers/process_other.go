//go:build unix && !linux

package main

import "syscall"

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const isolated = "FOLDGATE_BENCH_ISOLATED"

func isolate([]string) (int, error) { return 0, errNotIsolated }

func loopbackUp() error { return nil }
