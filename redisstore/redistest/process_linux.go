package redistest

import (
	"runtime"
	"syscall"
)

// attributes let the kernel end a server whose test process is gone, also when
// that one was killed and no clean-up ran.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// bind keeps the goroutine on its thread: the kernel's "parent" is the thread
// that started the server, not the process, and an idle thread may be ended.
func bind() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
