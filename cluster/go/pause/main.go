// Command pause is the sandbox container of a pod: it holds the pod's namespaces open, and reaps
// the processes that the pod's containers leave behind when they share a process namespace.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func reapChildren() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return
		}
	}
}

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reapChildren()
	}
}
