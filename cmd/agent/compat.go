package main

import (
	"github.com/podlapse/podlapse/internal/annotate"
	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/podobjects"
	"github.com/podlapse/podlapse/internal/podverify"
	"github.com/podlapse/podlapse/internal/probe"
	"github.com/podlapse/podlapse/internal/transition"
	"github.com/podlapse/podlapse/internal/watchdelay"
)

// Only users of an earlier tool need the compatibility features. Only this file imports the compatibility features. To
// remove a compatibility feature, delete its directory. Then delete the feature's import and the feature's line in this
// file. The table "Core and compatibility" in docs/architecture.md lists the compatibility features.

func (c *config) compatibility() []feature.Feature {
	return []feature.Feature{
		podobjects.Feature(),
		annotate.Feature(),
		podverify.Feature(),
		watchdelay.Feature(),
		probe.Feature(c.forFeatures),
	}
}

// compatibilityRecords returns the formats of records that other tools defined.
func compatibilityRecords() []recordFormat {
	return []recordFormat{
		{name: "transition", content: "the records of kube-transition-metrics", lines: transition.Lines, traits: true},
	}
}
