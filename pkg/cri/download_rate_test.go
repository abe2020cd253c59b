package cri

import (
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
)

// query is the state of an image's blobs at one query for downloads.
type query struct {
	at    float64
	blobs map[string]blobBytes
}

// TestDownloadRate checks which bytes count as received, and over which time.
func TestDownloadRate(t *testing.T) {
	type blobs = map[string]blobBytes
	a := func(done int64, from float64) blobs { return blobs{"a": {done, second(from)}} }
	shared := func(done int64) blobs { return blobs{"old": {done: 500}, "a": {done, second(0)}} }
	resumed := shared(70)
	resumed["b"] = blobBytes{900, second(3)}
	for name, test := range map[string]struct {
		queries []query
		want    int64
	}{
		"one query":            {[]query{{0, a(10, 0)}}, 0},
		"too close together":   {[]query{{0, a(10, 0)}, {4, a(90, 0)}}, 0},
		"too far apart":        {[]query{{0, a(10, 0)}, {36, a(90, 0)}}, 0},
		"two queries":          {[]query{{0, a(10, 0)}, {8, a(90, 0)}}, 10},
		"nothing arrives":      {[]query{{0, a(10, 0)}, {8, a(10, 0)}}, 0},
		"a new blob":           {[]query{{0, a(0, 0)}, {8, blobs{"b": {80, second(1)}}}}, 10},
		"a resumed blob":       {[]query{{11, shared(0)}, {18, resumed}}, 10},
		"a blob of others":     {[]query{{0, a(10, 0)}, {8, shared(90)}}, 10},
		"begun again":          {[]query{{0, a(50, 0)}, {6, a(20, 5)}, {8, a(90, 5)}}, 0},
		"a clock set back":     {[]query{{100, a(50, 0)}, {6, a(60, 0)}, {8, a(90, 0)}}, 0},
		"the past seconds":     {[]query{{0, a(0, 0)}, {3, a(900, 0)}, {8, a(950, 0)}, {9, a(960, 0)}}, 10},
		"the latest old query": {[]query{{0, a(0, 0)}, {20, a(900, 0)}, {30, a(1000, 0)}}, 10},
		"a query long ago":     {[]query{{0, a(0, 0)}, {60, a(900, 0)}, {66, a(960, 0)}}, 10},
	} {
		var r *receivedBytes
		for _, q := range test.queries {
			seen := map[digest.Digest]blobBytes{}
			for name, b := range q.blobs {
				seen[digest.FromString(name)] = b
			}
			r = r.afterQuery(second(q.at), seen)
		}
		if got := r.rate(); got != test.want {
			t.Errorf("%s: %d bytes per second, want %d", name, got, test.want)
		}
	}
}

// A pull that takes an hour keeps only the totals of the past seconds.
func TestReceivedIsBounded(t *testing.T) {
	var r *receivedBytes
	for i := range 3600 {
		blobs := map[digest.Digest]blobBytes{digest.FromString("a"): {int64(i * 7), second(0)}}
		r = r.afterQuery(second(float64(i)), blobs)
		if len(r.earlierTotals) > 5 {
			t.Fatalf("%d totals after %d s", len(r.earlierTotals), i)
		}
	}
	if r.rate() != 7 || r.earlierTotals[0].at.Before(r.at.Add(-minRateTime-time.Second)) {
		t.Errorf("%d bytes per second since %s", r.rate(), r.earlierTotals[0].at)
	}
}
