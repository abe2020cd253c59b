// Package exporttest checks transition records against their schema and their timelines.
package exporttest

import (
	"testing"

	"github.com/podlapse/podlapse/internal/startuptest"
)

// TransitionSchema returns the schema of kube-transition-metrics' records.
func TransitionSchema(t testing.TB) startuptest.Schema {
	t.Helper()
	return startuptest.ReadSchema(t, "pkg/export/testdata/transition.schema.json", "")
}
