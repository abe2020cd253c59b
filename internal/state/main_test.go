package state

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var created = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func after(s float64) time.Time { return created.Add(time.Duration(s * float64(time.Second))) }

func seen(uid string, at float64, reason string) timeline.PodSeen {
	return timeline.PodSeen{ArrivedAt: after(at), Live: true, Pod: timeline.Pod{
		UID: uid, RuntimeUID: uid, Namespace: "ns", Name: uid, Node: "node-1", CreatedAt: created, Phase: "Pending",
		Reason: reason,
	}}
}

// acknowledged returns a pod observation that also contains the time of the kubelet's acknowledgment.
func acknowledged(uid string, at float64) timeline.PodSeen {
	o := seen(uid, at, "")
	o.Pod.AcknowledgedAt = after(at)
	return o
}

// event returns an observed Event about a container.
func event(uid string, at float64, container string) timeline.EventSeen {
	return timeline.EventSeen{UID: uid, ArrivedAt: after(at), Container: container, Reason: "Pulling",
		Message: `Pulling image "x"`, FirstAt: after(at), LastAt: after(at), Count: 1}
}

// runtimeSilent returns the observation that the runtime was silent.
func runtimeSilent(from, until float64) timeline.RuntimeSilent {
	return timeline.RuntimeSilent{ArrivedAt: after(until), From: after(from), Until: after(until)}
}

func gone(uid string, at float64) timeline.PodGone {
	return timeline.PodGone{UID: uid, ArrivedAt: after(at)}
}

// bench is a saver whose saves the test can see.
type bench struct {
	*Saver
	saves  [][]byte // each file as written
	refuse atomic.Pointer[error]
	logs   *observer.ObservedLogs
	health []string // changes of the health
}

func (b *bench) report(up bool, detail string) {
	text := "down: " + detail
	if up {
		text = "up"
	}
	if n := len(b.health); n == 0 || b.health[n-1] != text {
		b.health = append(b.health, text)
	}
}

func newBench(t *testing.T, left Contents) *bench {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	b := &bench{logs: logs}
	opened := false
	d := &Dir{Contents: left, file: inMemory(func(text []byte) error {
		if err := b.refuse.Load(); err != nil {
			return *err
		}
		if opened {
			b.saves = append(b.saves, text)
		}
		return nil
	})}
	k, err := d.NewSaver(Config{
		Node: "node-1", Header: recording.Header{Agent: "v1", Scope: timeline.Scope{Since: created}}, Now: time.Now,
		Report: b.report, Registerer: prometheus.NewRegistry(), Logger: zap.New(core),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Saver = k
	opened = true
	return b
}

// saved replaces the file, and returns the contents that the next agent would load.
func (b *bench) saved(t *testing.T) Contents {
	t.Helper()
	b.size = 0
	return b.appended(t)
}

// appended appends to the file, and returns the contents that the next agent would load.
func (b *bench) appended(t *testing.T) Contents {
	t.Helper()
	if err := b.save(); err != nil {
		t.Fatal(err)
	}
	text := b.saves[len(b.saves)-1]
	if len(text) > maxFile {
		t.Errorf("the file has %d bytes, more than can be read", len(text))
	}
	c, err := parse(text, "node-1")
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return c
}
