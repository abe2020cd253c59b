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

// StartReceiver starts the program that receives traces and metrics over OTLP, and waits until the program is ready.
// StartReceiver does not remove the data from earlier runs of the program.
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
	if err := n.ensureRunning(c); err != nil {
		return err
	}
	return n.awaitReady(ctx, c)
}

func (n Node) receiver(program string) component {
	return component{
		Spec: process.Spec{Name: receiverName, Path: program, Args: []string{
			layout.Address(layout.OTLPHTTPPort), layout.Address(layout.OTLPGRPCPort), n.OTLP()}},
		ports: []int{layout.OTLPHTTPPort, layout.OTLPGRPCPort},
		ready: func(context.Context) error {
			return errors.Join(checkListening(layout.OTLPHTTPPort), checkListening(layout.OTLPGRPCPort))
		},
		limit: startLimit,
	}
}

// StopReceiver stops the OTLP receiver if it runs.
func (n Node) StopReceiver() error { return n.stopComponents(2*time.Second, receiverName) }

// ForgetOTLP removes the data that the OTLP receiver stored. The caller must stop the receiver first.
func (n Node) ForgetOTLP() error {
	if err := os.Remove(n.OTLP()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the OTLP data: %w", err)
	}
	return nil
}
