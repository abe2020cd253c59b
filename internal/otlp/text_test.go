package otlp

import (
	"strings"
	"testing"
	"unicode/utf8"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// withText returns functions that each set one text of a start-up. Together, the functions set every text that a
// trace contains.
func withText(text string) map[string]func(*timeline.Timeline) {
	return map[string]func(*timeline.Timeline){
		"reason":    func(t *timeline.Timeline) { t.State, t.Reason = timeline.StateFailed, text },
		"state":     func(t *timeline.Timeline) { t.State = timeline.State(text) },
		"uid":       func(t *timeline.Timeline) { t.UID = text },
		"name":      func(t *timeline.Timeline) { t.Name = text },
		"namespace": func(t *timeline.Timeline) { t.Namespace = text },
		"node":      func(t *timeline.Timeline) { t.Node = text },
		"owner":     func(t *timeline.Timeline) { t.Owner = timeline.Owner{Kind: text, Name: text} },
		"revision":  func(t *timeline.Timeline) { t.Revision = text },
		"parent":    func(t *timeline.Timeline) { t.TraceParent = text },
		"phase": func(t *timeline.Timeline) {
			t.Phases[0].Phase, t.Phases[0].Cause = timeline.Phase(text), timeline.Cause(text)
		},
		"image": func(t *timeline.Timeline) { t.Pulls[2].Image = "x/" + text + ":" + text },
		"volume": func(t *timeline.Timeline) {
			t.Pulls[2].Image, t.Pulls[2].Container = text, timeline.ImageName(text)
		},
		"container": func(t *timeline.Timeline) {
			t.Pulls[2].Container, t.Phases[0].Container, t.Milestones[1].Container = text, text, text
		},
		"digest":  func(t *timeline.Timeline) { t.Pulls[2].Digest, t.Pulls[2].Layers[0].Digest = text, text },
		"missing": func(t *timeline.Timeline) { t.Missing, t.LostEvents = []string{text}, []string{text} },
		"messages": func(t *timeline.Timeline) {
			t.EventMessage = []timeline.EventMessage{{Reason: text, Message: text, Container: text, At: t.CreatedAt}}
		},
		"failure": func(t *timeline.Timeline) {
			t.Pulls[2].Outcome, t.Pulls[2].Failure = "failed", imagepull.Failure(text)
		},
		"outcome":  func(t *timeline.Timeline) { t.Pulls[2].Outcome = imagepull.Outcome(text) },
		"registry": func(t *timeline.Timeline) { t.Pulls[2].Registry = text },
		"sources":  func(t *timeline.Timeline) { t.Pulls[2].Sources = []timeline.Source{timeline.Source(text)} },
		"blocker": func(t *timeline.Timeline) {
			t.Pulls[2].BlockedBy = &timeline.Blocker{Namespace: text, Pod: text, Image: text}
		},
	}
}

// A start-up with invalid texts does not affect the traces of other start-ups. The sink sends as much of the
// start-up as possible.
func TestInvalidStartUpAffectsNoOther(t *testing.T) {
	for kind, text := range map[string]string{
		"no UTF-8": "a\xff", "long": strings.Repeat("a", 1<<20), "long and no UTF-8": strings.Repeat("\xff", 1<<20),
		"wide": strings.Repeat("\U0001F4A5", 1<<19),
	} {
		for _, protocol := range []string{protocolHTTP, protocolGRPC} {
			t.Run(kind+" "+protocol, func(t *testing.T) {
				var collector receiver
				if protocol == protocolGRPC {
					collector.overGRPC(t)
				} else {
					collector.overHTTP(t)
				}
				sink := run(t)
				offered := 0.0
				for _, spoil := range withText(text) {
					odd := coldStart()
					spoil(&odd)
					sink.Offer(odd)
					offered++
				}
				good := coldStart()
				good.UID = "good"
				sink.Offer(good)
				sink.wait(t, offered+1)
				sink.mustCount(t, offered+1, 0)
				roots := 0.0
				for _, s := range collector.spans() {
					if len(s.ParentSpanId) == 0 {
						roots++
					}
					longest := longestText(s)
					if len(longest) > maxText || len(longest) == maxText && !strings.HasSuffix(longest, cutMark) {
						t.Errorf("%s has a text of %d bytes, that ends with %q", s.Name, len(longest),
							longest[maxText-8:])
					}
				}
				if roots != offered+1 {
					t.Errorf("received %v of %v start-ups", roots, offered+1)
				}
			})
		}
	}
}

func longestText(s *tracepb.Span) string {
	longest := s.Name
	for _, a := range s.Attributes {
		if text := a.Value.GetStringValue(); len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}

// The sink limits the size of requests, even if all start-ups have long texts.
func TestRequestIsBounded(t *testing.T) {
	long := coldStart()
	long.Name = strings.Repeat("a", maxText)
	for i := range long.Pulls {
		long.Pulls[i].Image = strings.Repeat("a", 2*maxText)
	}
	for range maxSpans {
		long.Phases = append(long.Phases, long.Phases[0])
		long.Missing = append(long.Missing, long.Name)
	}
	var collector receiver
	collector.overHTTP(t)
	sink := run(t)
	const startups = 4
	for range startups {
		sink.Offer(long)
	}
	sink.wait(t, startups)
	sink.mustCount(t, startups, 0)
	for _, request := range collector.traces {
		if n := proto.Size(request); n > batchBytes || n < batchBytes/4 {
			t.Errorf("a request of %d bytes", n)
		}
	}
	if spans := spansOf(long); len(spans) < 100 || len(spans) >= maxSpans {
		t.Errorf("kept %d spans", len(spans))
	}
}

// The estimated size of a span is at least the span's actual size, and not much larger.
func TestSpanSizeEstimate(t *testing.T) {
	for _, tl := range []timeline.Timeline{coldStart(), stuck()} {
		var collector receiver
		collector.overHTTP(t)
		sendAll(t, tl)
		thought := 0
		for _, s := range spansOf(tl) {
			thought += s.sizeBytes()
		}
		if needed := proto.Size(collector.traces[0]); thought < needed || thought > 2*needed {
			t.Errorf("actual size %d bytes, estimate %d", needed, thought)
		}
	}
}

func TestValid(t *testing.T) {
	for given, want := range map[string]string{
		"": "", "é": "é", "a\xff": "a\uFFFD",
		strings.Repeat("a", maxText):       strings.Repeat("a", maxText),
		strings.Repeat("a", maxText+1):     strings.Repeat("a", maxText-len(cutMark)) + cutMark,
		"a" + strings.Repeat("é", maxText): "a" + strings.Repeat("é", (maxText-len(cutMark)-1)/2) + cutMark,
	} {
		if got := validText(given); got != want || !utf8.ValidString(got) {
			t.Errorf("%.20q… of %d bytes is %d bytes, want %d", given, len(given), len(got), len(want))
		}
	}
}
