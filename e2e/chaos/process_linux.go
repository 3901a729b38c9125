package main

import "syscall"

// dieWithParent lets the kernel end what we started, also when we are killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
