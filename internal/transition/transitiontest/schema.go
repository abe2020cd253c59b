// Package transitiontest checks transition records against their schema and their timelines.
package transitiontest

import (
	"testing"

	"github.com/podlapse/podlapse/internal/startuptest"
)

// Schema returns the schema of kube-transition-metrics' records.
func Schema(t testing.TB) startuptest.Schema {
	t.Helper()
	return startuptest.ReadSchema(t, "internal/transition/testdata/transition.schema.json", "")
}
