package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var update = flag.Bool("update", false, "rewrite the files in testdata; read the difference by eye")

// encodeLine returns the line of a record.
func encodeLine(t *testing.T, record any) []byte {
	t.Helper()
	line, err := EncodeLine(record)
	if err != nil {
		t.Fatal(err)
	}
	return append(line, '\n')
}

func indented(t *testing.T, record Record) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, encodeLine(t, record), "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRecordJSON(t *testing.T) {
	startuptest.Golden(t, *update, "cold-start.json", indented(t, NewRecord(startuptest.ColdStart())))
	startuptest.Golden(t, *update, "still-pulling.json", indented(t, NewRecord(startuptest.StillPulling())))
}

func TestRecordRoundTrip(t *testing.T) {
	reconstructed := startuptest.ColdStart()
	reconstructed.Reconstructed = true
	for _, in := range []timeline.Timeline{startuptest.ColdStart(), startuptest.StillPulling(), reconstructed, {}} {
		want := NewRecord(in)
		line := encodeLine(t, want)
		var got Record
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", in.Name, indented(t, got), line)
		}
	}
}

func TestRecordNeverNull(t *testing.T) {
	for _, in := range []timeline.Timeline{{}, {
		Phases: make([]timeline.Span, 1), Pulls: make([]timeline.Pull, 1),
		Milestones: make([]timeline.MilestoneEvidence, 1),
	}} {
		if text := indented(t, NewRecord(in)); strings.Contains(text, "null") {
			t.Errorf("null in %s", text)
		}
	}
}

func TestRecordTimes(t *testing.T) {
	in := startuptest.ColdStart()
	in.CreatedAt = time.Date(2026, 3, 1, 13, 0, 0, 5, time.FixedZone("", 3600))
	got := indented(t, NewRecord(in))
	if want := `"created_at": "2026-03-01T12:00:00.000000005Z"`; !strings.Contains(got, want) {
		t.Errorf("no %s in %s", want, got)
	}
}

// TestRecordPhasesAddUp checks that the sum of the phases in JSON is the total, for any lengths of the phases.
func TestRecordPhasesAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		at := startuptest.After(time.Duration(random.Int64N(int64(time.Second))))
		in := timeline.Timeline{CreatedAt: at}
		for range 1 + random.IntN(30) {
			next := at.Add(time.Duration(random.Int64N(int64(time.Minute))))
			in.Phases = append(in.Phases, timeline.Span{Phase: timeline.PhaseKubeletSync, StartAt: at, EndAt: next})
			at = next
		}
		in.SettledAt, in.Total = at, at.Sub(in.CreatedAt)

		line := encodeLine(t, NewRecord(in))
		var plain struct {
			Total  json.Number `json:"total_seconds"`
			Phases []struct {
				Seconds json.Number `json:"seconds"`
			} `json:"phases"`
		}
		if err := json.Unmarshal(line, &plain); err != nil {
			t.Fatal(err)
		}
		sum, total := new(big.Rat), new(big.Rat)
		for _, phase := range plain.Phases {
			addDecimal(t, sum, phase.Seconds.String())
		}
		addDecimal(t, total, plain.Total.String())
		if sum.Cmp(total) != 0 {
			t.Fatalf("the phases sum to %s, the total is %s", sum.FloatString(12), total.FloatString(12))
		}
	}
}

func TestRecordHasKubeletMessages(t *testing.T) {
	tl := startuptest.ColdStart()
	if events := NewRecord(tl).Events; events != nil {
		t.Errorf("without messages the record has %v", events)
	}
	tl.EventMessage = []timeline.EventMessage{
		{At: startuptest.After(0), Reason: "Scheduled", Message: "Successfully assigned"},
		{At: startuptest.After(time.Second), Container: "app", Reason: "Failed", Message: "Error: <b>\x1b[31m"},
	}
	want := []EventRecord{
		{At: Instant{startuptest.After(0)}, Reason: "Scheduled", Message: "Successfully assigned"},
		{At: Instant{startuptest.After(time.Second)}, Container: "app", Reason: "Failed",
			Message: "Error: <b>\x1b[31m"},
	}
	if got := NewRecord(tl).Events; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
