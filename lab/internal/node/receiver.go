package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// StartReceiver starts what takes traces and metrics over OTLP, and waits until it does. What it took before is kept.
func (n Node) StartReceiver(ctx context.Context) error {
	source, err := build.FindSource()
	if err != nil {
		return err
	}
	program, err := build.Builder{Source: source, Cache: n.Cache, Report: n.Report}.Receiver(ctx)
	if err != nil {
		return err
	}
	c := n.receiver(program)
	if err := n.ensure(c); err != nil {
		return err
	}
	return n.await(ctx, c)
}

func (n Node) receiver(program string) component {
	return component{
		Spec: process.Spec{Name: receiverName, Path: program, Args: []string{
			layout.Address(layout.OTLPHTTPPort), layout.Address(layout.OTLPGRPCPort), n.OTLP()}},
		ports: []int{layout.OTLPHTTPPort, layout.OTLPGRPCPort},
		ready: func(context.Context) error {
			return errors.Join(listening(layout.OTLPHTTPPort), listening(layout.OTLPGRPCPort))
		},
		limit: startLimit,
	}
}

// StopReceiver ends it, if there is one.
func (n Node) StopReceiver() error { return n.stop(2*time.Second, receiverName) }

// ForgetOTLP removes what the receiver took. It must not run.
func (n Node) ForgetOTLP() error {
	if err := os.Remove(n.OTLP()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what was sent over OTLP: %w", err)
	}
	return nil
}
