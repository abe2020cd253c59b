package export

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestBusyTime(t *testing.T) {
	second := func(s int) time.Time { return time.Unix(int64(s), 0) }
	var b busyTime
	for _, step := range []struct{ from, until, fresh int }{
		{10, 20, 10}, {10, 20, 0}, {12, 18, 0}, {15, 25, 5}, {40, 50, 10}, {24, 41, 15}, {5, 60, 15}, {60, 61, 1},
		{70, 70, 0}, {80, 75, 0}, {1, 2, 1},
	} {
		if got := b.addInterval(second(step.from), second(step.until)); got != time.Duration(step.fresh)*time.Second {
			t.Errorf("from %d to %d: %s, want %d s", step.from, step.until, got, step.fresh)
		}
	}
}

// TestBusyTimeMatchesReference compares busyTime with an implementation that stores each second.
func TestBusyTimeMatchesReference(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var b busyTime
		busy, sum := map[int]bool{}, time.Duration(0)
		for range 60 {
			from := random.IntN(200)
			until := from + random.IntN(20)
			sum += b.addInterval(time.Unix(int64(from), 0), time.Unix(int64(until), 0))
			for s := from; s < until; s++ {
				busy[s] = true
			}
		}
		if want := time.Duration(len(busy)) * time.Second; sum != want {
			t.Fatalf("%s, want %s", sum, want)
		}
	}
}

// TestBusyTimeIsBounded adds disjoint pulls. busyTime must forget the oldest pulls and count nothing twice.
func TestBusyTimeIsBounded(t *testing.T) {
	var b busyTime
	for i := range 3 * maxBusy {
		if got := b.addInterval(time.Unix(int64(2*i), 0), time.Unix(int64(2*i+1), 0)); got != time.Second {
			t.Fatalf("%d: %s", i, got)
		}
	}
	if len(b.stretches) != maxBusy || b.addInterval(time.Unix(0, 0), time.Unix(1, 0)) != 0 {
		t.Errorf("%d stretches are stored, or the first counts again", len(b.stretches))
	}
}
