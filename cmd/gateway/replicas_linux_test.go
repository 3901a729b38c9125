package main

import "syscall"

// dieWithParent lets the kernel end a replica whose test process is gone, also
// when that one was killed and no clean-up ran.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
