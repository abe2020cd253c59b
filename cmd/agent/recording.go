package main

import (
	"fmt"

	"github.com/podlapse/podlapse/internal/recorder"
	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// partRecording is the name of the recording in the agent's health status (health.Board).
const partRecording = "recording"

// newRecorder returns the recorder of observations. If both --record-observations and --debug-observations are off,
// newRecorder returns nil.
func newRecorder(d deps, header recording.Header, before []timeline.Observation) (*recorder.Recorder, error) {
	c := d.config
	if c.recordObservations == "" && !c.debugObservations {
		return nil, nil
	}
	parts := recorder.Config{
		Header: header, Before: before, Latest: c.debugObservations,
		Registerer: d.registry, Logger: d.logger.Named(partRecording),
	}
	if c.recordObservations != "" {
		file, err := recorder.OpenFile(c.recordObservations)
		if err != nil {
			return nil, fmt.Errorf("--record-observations: %w", err)
		}
		parts.File = file
		parts.Report = d.board.Register(partRecording, "not started yet")
	}
	return recorder.New(parts)
}
