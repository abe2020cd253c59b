package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/record"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// partRecording is what the health board calls the file of observations.
const partRecording = "recording"

// newRecorder makes what keeps observations, or nil when no flag asks for it.
func newRecorder(c config, header record.Header, before []timeline.Observation, registry prometheus.Registerer,
	board *health.Board, logger *zap.Logger) (*record.Recorder, error) {
	if c.recordObservations == "" && c.debugObservations == debugOff {
		return nil, nil
	}
	parts := record.Config{Header: header, Before: before, Latest: c.debugObservations == debugOn, Registerer: registry, Logger: logger.Named(partRecording)}
	if c.recordObservations != "" {
		file, err := record.OpenFile(c.recordObservations)
		if err != nil {
			return nil, fmt.Errorf("--record-observations: %w", err)
		}
		parts.File = file
		parts.Report = board.Register(partRecording, "not started yet")
	}
	return record.New(parts)
}
