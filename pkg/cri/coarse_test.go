package cri_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestMissingCapabilitiesAreLoggedOnce checks that the source logs a missing capability once, and not for each
// connection. The metrics must always show the capability as missing.
func TestMissingCapabilitiesAreLoggedOnce(t *testing.T) {
	for _, test := range []struct {
		name, version string
		missing       []any
	}{
		{"containerd", "v2.4.2", nil},
		{"containerd", "v1.7.27", nil},
		{"containerd", "v1.6.14", []any{"sandboxes"}},
		{"cri-o", "1.36.0", []any{"sandboxes", "images", "content", "snapshots"}},
	} {
		t.Run(test.name+" "+test.version, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.sock")
			options := critest.Options{Name: test.name, Version: test.version}
			core, logs := observer.New(zap.WarnLevel)
			reports := make(chan bool, 64)
			source := cri.New(cri.Config{
				Endpoint: explicit(t, path), Now: time.Now, Logger: zap.New(core),
				Observe: func(context.Context, timeline.Observation) {},
				Report: func(up bool, _ string) {
					select {
					case reports <- up:
					default:
					}
				},
			})
			if served := source.Stores(); served != nil {
				t.Errorf("without a runtime: %v", served)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- source.Run(ctx) }()
			defer func() { stop(); <-ended }()
			for range 2 { // the same as after two restarts of the runtime
				runtime := critest.Start(t, path, options)
				for up := false; !up; {
					up = <-reports
				}
				for deadline := time.Now().Add(patience); source.Stores() == nil && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
				var missing []any
				served := source.Stores()
				for _, store := range []string{"sandboxes", "images", "content", "snapshots"} {
					if !served[store] {
						missing = append(missing, store)
					}
				}
				if !slices.Equal(missing, test.missing) || len(served) != 4 {
					t.Errorf("served: %v", served)
				}
				runtime.Stop()
				source.Request(timeline.RuntimeRequest{UID: "x"})
				for up := true; up; {
					up = <-reports
				}
			}
			logged := logs.FilterMessageSnippet("timelines are less precise").All()
			switch {
			case len(test.missing) == 0 && len(logged) > 0:
				t.Errorf("nothing is missing, but logged %v", logged)
			case len(test.missing) > 0 &&
				(len(logged) != 1 || !slices.Equal(logged[0].ContextMap()["missing"].([]any), test.missing)):
				t.Errorf("logged %v, of %v", logged, slices.Sorted(maps.Keys(source.Stores())))
			}
		})
	}
}
