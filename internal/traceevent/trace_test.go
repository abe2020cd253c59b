package traceevent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/traceevent"
	"github.com/podlapse/podlapse/pkg/api"
)

// readTrace is a trace as a reader of the format parses it. Timestamps and durations are in microseconds.
type readTrace struct {
	TraceEvents []struct {
		Ph, Name, Cat, S string
		Ts, Dur          *json.Number
		Pid, Tid         *int
		Args             map[string]any
	}
	DisplayTimeUnit string
	OtherData       map[string]string
}

func read(t *testing.T, trace traceevent.Trace) (got readTrace) {
	t.Helper()
	text, err := json.Marshal(trace)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

// nanos parses microseconds with up to three decimals.
func nanos(t *testing.T, n *json.Number) int64 {
	t.Helper()
	d, err := time.ParseDuration(n.String() + "us")
	if err != nil {
		t.Fatal(err)
	}
	return d.Nanoseconds()
}

// TestTraceFollowsFormat checks traces against the rules of the Trace Event Format:
//   - Metadata names every process and every thread with events.
//   - Complete events have a timestamp and a duration.
//   - Instants have a scope.
//   - Events on one thread nest or do not overlap.
func TestTraceFollowsFormat(t *testing.T) {
	records := []api.Record{}
	for n := range 5 {
		records = append(records, api.NewRecord(startuptest.New(n)))
	}
	for _, tl := range startuptest.All() {
		records = append(records, api.NewRecord(tl))
	}
	for _, record := range records {
		trace := read(t, traceevent.New(record))
		if trace.DisplayTimeUnit != "ms" || trace.OtherData["id"] != record.ID {
			t.Errorf("%+v", trace)
		}
		threads := map[int]string{}
		type stretch struct{ from, to int64 }
		open := map[int][]stretch{}
		for _, e := range trace.TraceEvents {
			if e.Pid == nil || e.Tid == nil || e.Name == "" {
				t.Fatalf("%+v", e)
			}
			switch e.Ph {
			case "M":
				if e.Name == "thread_name" {
					threads[*e.Tid] = e.Args["name"].(string)
				}
				continue
			case "X":
				one := stretch{nanos(t, e.Ts), nanos(t, e.Ts) + nanos(t, e.Dur)}
				for _, other := range open[*e.Tid] {
					apart := one.from >= other.to || one.to <= other.from
					inside := one.from >= other.from && one.to <= other.to || one.from <= other.from &&
						one.to >= other.to
					if !apart && !inside {
						t.Errorf("%s: %s overlaps another event of thread %s", record.Name, e.Name, threads[*e.Tid])
					}
				}
				open[*e.Tid] = append(open[*e.Tid], one)
			case "i":
				if e.S != "t" || e.Ts == nil || e.Dur != nil {
					t.Errorf("%+v", e)
				}
			default:
				t.Errorf("unknown event kind %q", e.Ph)
			}
			if threads[*e.Tid] == "" {
				t.Errorf("%s: thread %d has no name before its first event", record.Name, *e.Tid)
			}
		}
	}
}

// TestTraceIsExact checks the start and duration of every phase to the nanosecond.
func TestTraceIsExact(t *testing.T) {
	record := api.NewRecord(startuptest.New(3))
	trace := read(t, traceevent.New(record))
	var sum int64
	i := 0
	for _, e := range trace.TraceEvents {
		if e.Ph != "X" || *e.Tid != 1 {
			continue
		}
		phase := record.Phases[i]
		i++
		if got, want := nanos(t, e.Ts), phase.StartAt.Sub(record.CreatedAt.Time).Nanoseconds(); got != want {
			t.Errorf("%s begins at %d, want %d", e.Name, got, want)
		}
		if e.Cat != string(phase.Cause) || !strings.HasPrefix(e.Name, string(phase.Phase)) {
			t.Errorf("%+v is not %+v", e, phase)
		}
		sum += nanos(t, e.Dur)
	}
	if i != len(record.Phases) || sum != record.Total.Duration().Nanoseconds() {
		t.Errorf("got %d phases of %d ns, want %d of %d", i, sum, len(record.Phases), record.Total.Duration())
	}
}

func TestMicros(t *testing.T) {
	for length, want := range map[time.Duration]string{
		0: "0", 1: "0.001", 999: "0.999", 1000: "1", 1001: "1.001", -1: "-0.001", -1500: "-1.500",
		time.Hour: "3600000000",
	} {
		got, err := json.Marshal(traceevent.Micros(length))
		if err != nil || string(got) != want {
			t.Errorf("%d ns: %s, %v; want %s", length, got, err, want)
		}
	}
}
