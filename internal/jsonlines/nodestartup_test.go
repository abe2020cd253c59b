package jsonlines

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestNodeStartUpIsOneLine checks that the start-up of the node is one line in every selection of formats, and that
// Done does not receive it.
func TestNodeStartUpIsOneLine(t *testing.T) {
	var out bytes.Buffer
	done := func(timeline.Timeline) { t.Error("a start-up of a pod is reported") }
	sink := newLinesWith(Config{Out: &out, Done: done})
	sink.OfferNodeStartUp(api.NodeStartUpRecord{ID: "b", Node: "node-a"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Run still writes the queued lines
	if err := sink.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, `{"node_startup":{"id":"b",`) {
		t.Errorf("%s", text)
	}
}
