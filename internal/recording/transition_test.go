package recording_test

import (
	"testing"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/transition"
	"github.com/podlapse/podlapse/internal/transition/transitiontest"
)

// TestRecordingsAsTransitionRecords checks the transition records of each recording against their schema, and compares
// these records with the timelines.
func TestRecordingsAsTransitionRecords(t *testing.T) {
	schema := transitiontest.Schema(t)
	for _, tl := range recorded(t) {
		lines := startuptest.Lines(t, transition.Lines, tl, created)
		transitiontest.Agree(t, tl, lines, created)
		for _, line := range lines {
			schema.Check(t, line)
		}
	}
}
