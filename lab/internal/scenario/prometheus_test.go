package scenario

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

func TestBucketOf(t *testing.T) {
	for _, test := range []struct {
		edges              []float64
		seconds, low, high float64
	}{
		{startupEdges, 0.01, 0, 0.025}, {startupEdges, 2.5, 1, 2.5}, {startupEdges, 2.6, 2.5, 5},
		{startupEdges, 7, 5, 10}, {startupEdges, 15, 10, 20},
		{pullEdges, 0.01, 0, 1}, {pullEdges, 7, 5, 15}, {pullEdges, 15, 5, 15}, {pullEdges, 25, 15, 60},
		{pullEdges, 301, 300, math.Inf(1)},
	} {
		if low, high := bucketOf(test.edges, test.seconds); low != test.low || high != test.high {
			t.Errorf("%v is in the bucket from %v to %v, want %v to %v", test.seconds, low, high, test.low, test.high)
		}
	}
}

// The edges must equal the edges in the agent's golden file of metrics. The agent's tests check the golden file.
func TestBucketEdgesMatchAgent(t *testing.T) {
	text, err := os.ReadFile("../../../pkg/export/testdata/cold-start.metrics")
	if err != nil {
		t.Fatal(err)
	}
	for histogram, want := range map[string][]float64{startupHistogram: startupEdges, pullHistogram: pullEdges} {
		edges := []float64{0}
		for _, m := range regexp.MustCompile("(?m)^"+histogram+`_bucket{.*le="([^"]+)"} `).FindAllStringSubmatch(
			string(text), -1) {
			edge, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			edges = append(edges, edge)
		}
		if !slices.Equal(edges, want) {
			t.Errorf("%s has %v, want %v", histogram, edges, want)
		}
	}
}
