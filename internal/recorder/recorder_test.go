package recorder

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/internal/sink"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a file with a limited size.
type disk struct {
	bytes.Buffer
	room   int
	writes int
	closed bool
}

var errNoSpace = errors.New("no space left on device")

func (d *disk) Write(p []byte) (int, error) {
	d.writes++
	n := min(len(p), d.room)
	d.room -= n
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errNoSpace
	}
	return n, nil
}

func (d *disk) Close() error {
	d.closed = true
	return nil
}

// bench is a recorder with a disk and the recorder's reports.
type bench struct {
	*Recorder
	disk     *disk
	reports  []string // reports that the recorder is down
	ups      int
	registry *prometheus.Registry
}

func newBench(t *testing.T, room int, limit int64) *bench {
	t.Helper()
	b := &bench{disk: &disk{room: room}, registry: prometheus.NewRegistry()}
	recorder, err := New(Config{Latest: true,
		File: &File{out: b.disk, limit: limit},
		Report: func(up bool, detail string) {
			if up {
				b.ups++
			} else {
				b.reports = append(b.reports, detail)
			}
		},
		Registerer: b.registry, Logger: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Recorder = recorder
	return b
}

func (b *bench) sent() float64    { return metric(b.registry, "podlapse_sink_sent_total") }
func (b *bench) dropped() float64 { return metric(b.registry, "podlapse_sink_dropped_total") }

// metric returns the only value of a metric.
func metric(registry *prometheus.Registry, name string) float64 {
	families, _ := registry.Gather()
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return -1
}

// run starts the Recorder, and returns a function that stops the Recorder.
func (b *bench) run(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

// header1 is a header of the format's first version. plainHeader and line are the two lines in a bench's file after one
// recorded observation.
const (
	plainHeader = `{"kind":"header","version":3}` + "\n"
	header1     = `{"kind":"header","version":1,"runtime":true}` + "\n"
	line        = `{"kind":"pod_gone","uid":"u","arrived_at":"2026-03-01T12:00:00Z"}` + "\n"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

var observed = timeline.PodGone{UID: "u", ArrivedAt: noon}

func TestRecorderFlushesWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1<<20, 1<<20)
		stop := b.run(t)
		synctest.Wait()
		if got := b.disk.String(); got != plainHeader {
			t.Errorf("at first %q", got)
		}
		b.Observe(observed)
		b.Observe(observed)
		synctest.Wait()
		if got := b.disk.String(); got != plainHeader+line+line {
			t.Errorf("then %q", got)
		}
		stop()
		if !b.disk.closed || b.ups != 1 || b.reports != nil || b.dropped() != 0 || b.sent() != 2 {
			t.Errorf("closed %t, %d ups, downs %q, dropped %v", b.disk.closed, b.ups, b.reports, b.dropped())
		}
	})
}

func TestRecorderDrainsWhenStopped(t *testing.T) {
	b := newBench(t, 1<<20, 1<<20)
	for range queueCapacity + 2 {
		b.Observe(observed)
	}
	if b.dropped() != 2 {
		t.Errorf("dropped %v, want all that exceed the queue", b.dropped())
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := b.Run(stopped); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.disk.String(), line); got != queueCapacity || b.disk.writes > 4 {
		t.Errorf("%d lines in %d writes", got, b.disk.writes)
	}
}

// slowDisk is so slow that the drain times out.
type slowDisk struct{ disk }

func (d *slowDisk) Write(p []byte) (int, error) {
	time.Sleep(drain * 2 / 3)
	return d.disk.Write(p)
}

func TestRecorderGivesUpOnSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1<<30, 1<<30)
		b.Recorder.file.out = &slowDisk{disk{room: 1 << 30}}
		const observations = 900
		long := observed
		long.UID = strings.Repeat("u", 1000) // a few dozen of these observations fill the buffer
		for range observations {
			b.Observe(long)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		began := time.Now()
		err := b.Run(stopped)
		if !errors.Is(err, sink.ErrSlow) || time.Since(began) > 5*drain {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if b.sent() == 0 || b.dropped() == 0 || b.sent()+b.dropped() != observations {
			t.Errorf("sent %v, dropped %v of %d", b.sent(), b.dropped(), observations)
		}
	})
}

func TestRecorderStopsAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1<<20, int64(len(plainHeader)+2*len(line)))
		stop := b.run(t)
		for range 5 {
			b.Observe(observed)
		}
		synctest.Wait()
		if got := b.disk.String(); got != plainHeader+line+line || !b.disk.closed || b.dropped() != 3 || b.sent() != 2 {
			t.Errorf("file %q, dropped %v", got, b.dropped())
		}
		if len(b.reports) != 1 || !strings.Contains(b.reports[0], "reached its limit") {
			t.Errorf("reported %q", b.reports)
		}
		if got := len(b.ring.latest()); got != 5 {
			t.Errorf("the ring has %d lines, want all", got)
		}
		stop()
	})
}

func TestRecorderContinuesAfterWriteError(t *testing.T) {
	for name, test := range map[string]struct {
		room    int
		written string // complete lines that the disk received
		dropped float64
	}{
		"too small for the header": {3, plainHeader[:3], 3},
		"too small for a line":     {len(plainHeader) + len(line) + 3, plainHeader + line + line[:3], 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, test.room, 1<<20)
			stop := b.run(t)
			for range 3 {
				b.Observe(observed)
				synctest.Wait()
			}
			got := b.disk.String()
			if got != test.written || b.dropped() != test.dropped || b.sent()+b.dropped() != 3 || !b.disk.closed {
				t.Errorf("%s: file %q, dropped %v", name, got, b.dropped())
			}
			if len(b.reports) != 1 || !strings.Contains(b.reports[0], errNoSpace.Error()) {
				t.Errorf("%s: reported %q", name, b.reports)
			}
			stop()
		})
	}
}

func TestRecorderCountsEncodingErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1<<20, 1<<20)
		stop := b.run(t)
		b.Observe(timeline.PodGone{UID: "u", ArrivedAt: noon.AddDate(9000, 0, 0)})
		b.Observe(observed)
		synctest.Wait()
		if got := b.disk.String(); got != plainHeader+line || b.dropped() != 1 || b.sent() != 1 || b.reports != nil {
			t.Errorf("file %q, dropped %v, reported %q", got, b.dropped(), b.reports)
		}
		stop()
	})
}

// countObservations returns the number of observations before an error. The error is nil at the end of the input.
func countObservations(in io.Reader) (n int, err error) {
	for reader := recording.NewReader(in); ; n++ {
		switch _, err := reader.Next(); err {
		case nil:
		case io.EOF:
			return n, nil
		default:
			return n, err
		}
	}
}

func TestLatestObservationsAreARecording(t *testing.T) {
	recorder, err := New(Config{Latest: true,
		Header: recording.Header{Agent: "v1"}, Before: []timeline.Observation{observed},
		Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		recorder.Observe(observed)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := recorder.Run(stopped); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, err := recorder.WriteTo(&out)
	count, readErr := countObservations(bytes.NewReader(out.Bytes()))
	if err != nil || readErr != nil || count != 3 || n != int64(out.Len()) {
		t.Errorf("%d bytes, %v; read %d, %v of %q", n, err, count, readErr, out.String())
	}
	if n, err := recorder.WriteTo(&disk{room: 40}); n != 40 || !errors.Is(err, errNoSpace) {
		t.Errorf("wrote %d, %v", n, err)
	}
}

func TestRingIsBounded(t *testing.T) {
	var r ring
	for i := range ringLines + 10 {
		r.addLine([]byte{byte(i), byte(i >> 8)})
	}
	got := r.latest()
	if first := got[0]; len(got) != ringLines || first[0] != 10 || r.bytes != 2*ringLines {
		t.Errorf("%d lines, %d bytes, the oldest is %v", len(got), r.bytes, first)
	}
	for range 10 {
		r.addLine(make([]byte, ringBytes/4))
	}
	if got := r.latest(); len(got) != 4 || r.bytes != ringBytes {
		t.Errorf("%d lines of %d bytes", len(got), r.bytes)
	}
}

// BenchmarkRecord encodes and keeps a typical pod object.
func BenchmarkRecord(b *testing.B) {
	recorded, err := os.ReadFile(filepath.Join("..", "recording", "testdata", "cold-start.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	o, err := recording.NewReader(bytes.NewReader(recorded)).Next()
	if err != nil {
		b.Fatal(err)
	}
	recorder, err := New(Config{Registerer: prometheus.NewRegistry(), Logger: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		recorder.record(o)
	}
}
