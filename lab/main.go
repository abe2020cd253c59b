// Command lab runs a real single-node Kubernetes on loopback, injects faults, and tests the podlapse agent on this
// node.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/podlapse/podlapse/lab/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command.Run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	if err == nil {
		return
	}
	var quiet command.Quiet
	if !errors.As(err, &quiet) {
		fmt.Fprintln(os.Stderr, "lab:", err)
	}
	var usage command.UsageError
	if errors.As(err, &usage) {
		os.Exit(2)
	}
	os.Exit(1)
}
