package timeline

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// TestSizedPulls checks which pulls have a duration and bytes that belong together.
func TestSizedPulls(t *testing.T) {
	for name, test := range map[string]struct {
		change func(p *Pull)
		sized  bool
	}{
		"all layers are dated":     {func(*Pull) {}, true},
		"a credential plugin ran":  {func(p *Pull) { p.Credentials = time.Second }, true},
		"the layers are undated":   {func(p *Pull) { p.Layers, p.DownloadedAt = nil, time.Time{} }, false},
		"the size is unknown":      {func(p *Pull) { p.Layers[1].SizeBytes = 0 }, false},
		"the duration is unknown":  {func(p *Pull) { p.Timed = false }, false},
		"the start is unknown":     {func(p *Pull) { p.StartedAt = time.Time{} }, false},
		"the pull resumed":         {func(p *Pull) { p.Resumed = true }, false},
		"some layers are mounted":  {func(p *Pull) { p.Lazy = true }, false},
		"shares a layer":           {func(p *Pull) { p.Shared = []bool{true, false} }, false},
		"shares no layer":          {func(p *Pull) { p.Shared = []bool{false, false} }, true},
		"bytes came earlier":       {func(p *Pull) { p.early = true }, false},
		"joined another pull":      {func(p *Pull) { p.Outcome = imagepull.OutcomeJoined }, false},
		"the outcome is not known": {func(p *Pull) { p.Outcome = imagepull.OutcomeUnknown }, false},
	} {
		p := Pull{Outcome: imagepull.OutcomeDownloaded, Timed: true, Pull: 3 * time.Second, StartedAt: base,
			DownloadedAt: base.Add(2 * time.Second), FinishedAt: base.Add(3 * time.Second),
			Layers: []Layer{
				{Digest: "sha256:a", SizeBytes: 100, DownloadedAt: base.Add(time.Second)},
				{Digest: "sha256:b", SizeBytes: 20, DownloadedAt: base.Add(2 * time.Second)},
			}}
		test.change(&p)
		if got := p.Sized(); got != test.sized {
			t.Errorf("%s: sized %t, want %t", name, got, test.sized)
		}
	}
}

// TestSizedPullsOfScripts checks that a pull with a layer without a date is not sized, even if other layers have dates.
func TestSizedPullsOfScripts(t *testing.T) {
	for name, sized := range map[string]bool{
		"unpack": true, "layer-discarded": false, "layers-unreported": false, "lazy-pull": false,
		"lazy-pull-in-part": false,
	} {
		input, _ := readScript(t, "testdata/"+name+".script")
		s := parseScript(t, input)
		tl, ok := s.evidence().Timeline(s.asOf, s.skew)
		if !ok {
			t.Fatal("no timeline of ", name)
		}
		p := tl.Pulls[len(tl.Pulls)-1]
		if p.Sized() != sized || p.Outcome != imagepull.OutcomeDownloaded || !p.Timed {
			t.Errorf("%s: sized %t, want %t: %+v", name, p.Sized(), sized, p)
		}
	}
}
