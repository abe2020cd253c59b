package main

import (
	"time"

	"github.com/podlapse/podlapse/internal/annotate"
)

// partAnnotations is the annotator's name on the health board.
const partAnnotations = "annotations"

// newAnnotator returns the component that annotates pods. Without --annotate, newAnnotator returns nil.
func newAnnotator(d deps, k *core) *annotate.Annotator {
	if !d.config.annotate {
		return nil
	}
	return annotate.New(annotate.Config{
		Client: d.api.own, NodeName: d.config.nodeName, Timelines: k.some, Now: time.Now,
		Report: d.board.Register(partAnnotations, "not started yet"), Registerer: d.registry,
	})
}
