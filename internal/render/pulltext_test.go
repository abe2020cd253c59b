package render

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestSameNumberInAllTexts formats durations whose float64 is smaller than the decimal.
func TestSameNumberInAllTexts(t *testing.T) {
	const d = 11950 * time.Millisecond
	for got, want := range map[string]string{
		LengthText(d):                "12.0 s",
		inSeconds(api.Seconds(d)):    "12.0 s",
		signed(api.Seconds(d)):       "+12.0 s",
		signed(api.Seconds(-d)):      "-12.0 s",
		SignedText(0, 1):             "+0.0 s",
		SecondsText(1000500 * 1000):  "1.001 s",
		SignedText(-1000500*1000, 3): "-1.001 s",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestLengthText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0 s", 0: "0.0 s", 59990 * time.Millisecond: "1m00s", 59940 * time.Millisecond: "59.9 s",
		time.Minute: "1m00s", 61*time.Minute + 5*time.Second: "1h01m", 100 * time.Hour: "100h00m",
	} {
		if got := LengthText(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}

// TestLivePullTexts checks that the texts of a pull in progress state no more than its record. A record without a state
// is one of several pulls that might own a download.
func TestLivePullTexts(t *testing.T) {
	for _, test := range []struct {
		pull           api.LivePullRecord
		text, fromText string
	}{
		{api.LivePullRecord{State: api.PullStateQueued}, "queued", "queued for x.example"},
		{api.LivePullRecord{State: api.PullStatePulling}, "pulling", "from x.example"},
		{api.LivePullRecord{State: api.PullStatePulling, DoneBytes: 5 << 20}, "pulling", "5.0 MiB from x.example"},
		{api.LivePullRecord{State: api.PullStateUnpacking}, "unpacking", "unpacking"},
		{api.LivePullRecord{State: api.PullStatePulling, DoneBytes: 5 << 20, TotalBytes: 20 << 20,
			BytesPerSecond: 12 << 20, Remaining: api.Seconds(1250 * time.Millisecond)}, "pulling",
			"5.0 of 20.0 MiB (25 %) from x.example at 12.0 MiB/s, download ends in about 1 s"},
		{api.LivePullRecord{State: api.PullStatePulling, DoneBytes: 5 << 20, BytesPerSecond: 2 << 10}, "pulling",
			"5.0 MiB from x.example at 2.0 KiB/s"},
		{api.LivePullRecord{}, "queued or pulling", "queued or pulling from x.example"},
		{api.LivePullRecord{Restart: true}, "queued or pulling, restart", "queued or pulling, restart from x.example"},
		{api.LivePullRecord{State: api.PullStatePulling, Outcome: imagepull.OutcomeExternal}, "pulling, external",
			"from x.example"},
		{api.LivePullRecord{Outcome: imagepull.OutcomeExternal}, "external", "external from x.example"},
	} {
		if test.pull.Registry = "x.example"; test.pull.Outcome == "" {
			test.pull.Outcome = imagepull.OutcomePulling
		}
		if text, from := LivePullText(test.pull), LivePullFromText(test.pull); text != test.text ||
			from != test.fromText {
			t.Errorf("%+v: %q and %q, want %q and %q", test.pull, text, from, test.text, test.fromText)
		}
	}
}

func TestLivePullRateText(t *testing.T) {
	pull := api.LivePullRecord{State: api.PullStatePulling, Outcome: imagepull.OutcomePulling, Restart: true,
		BytesPerSecond: 12 << 20}
	for remaining, want := range map[time.Duration]string{
		0: "", 40 * time.Millisecond: ", download ends in about 1 s",
		8400 * time.Millisecond:  ", download ends in about 8 s",
		59800 * time.Millisecond: ", download ends in about 1m00s", 2 * time.Hour: ", download ends in about 2h00m",
	} {
		pull.Remaining = api.Seconds(remaining)
		if got := LivePullRateText(pull); got != "pulling at 12.0 MiB/s"+want+", restart" {
			t.Errorf("%s: %q", remaining, got)
		}
	}
	pull.State = api.PullStateUnpacking
	if got := LivePullRateText(pull); got != "unpacking, restart" {
		t.Errorf("got %q", got)
	}
}

// During a back-off after a failed pull, the reason names the failure and the registry of the latest pull.
func TestReasonText(t *testing.T) {
	backoff := api.Record{Reason: "ImagePullBackOff", Phases: []api.PhaseRecord{
		{Phase: timeline.PhaseImageBackoff, Container: "app", Attempt: 2, Open: true}},
		Pulls: []api.PullRecord{
			{Container: "app", Registry: "r.example", Failure: imagepull.FailureTimeout},
			{Container: "app", Registry: "r.example", Failure: imagepull.FailureConnectionRefused},
			{Container: "other", Registry: "s.example", Failure: imagepull.FailureTimeout}}}
	running := backoff
	running.Reason, running.Phases = "CrashLoopBackOff", []api.PhaseRecord{
		{Phase: timeline.PhaseCrashBackoff, Container: "app", Open: true}}
	late := backoff
	late.Pulls = nil
	evil := backoff
	evil.Pulls = []api.PullRecord{{Container: "app", Registry: "\x1b[31mr", Failure: "\x07"}}
	for want, record := range map[string]api.Record{
		"ImagePullBackOff: connection_refused from r.example": backoff,
		"CrashLoopBackOff": running,
		"ImagePullBackOff": late,
	} {
		if got := ReasonText(record); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := ReasonText(evil); strings.ContainsAny(got, "\x1b\x07") {
		t.Errorf("control characters in %q", got)
	}
}
