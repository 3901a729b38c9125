//go:build unix && !linux

package redistest

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

func bind() (release func()) { return func() {} }
