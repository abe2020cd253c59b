package scenario

import (
	"slices"
	"strings"
	"testing"
)

func TestExamRows(t *testing.T) {
	const least = 45
	seen := make(map[string]bool)
	for _, stage := range examStages(1) {
		for _, row := range stage.rows {
			if seen[row.name] {
				t.Errorf("two rows are named %s", row.name)
			}
			if seen[row.name] = true; row.culprit == "" || row.play == nil {
				t.Errorf("row %s has no culprit or no function to play it", row.name)
			}
		}
	}
	if len(seen) < least {
		t.Errorf("%d rows, want %d", len(seen), least)
	}
}

func TestDrawnRowsDependOnSeed(t *testing.T) {
	words := func(seed uint64) (all []string) {
		for _, row := range drawRows("row", 20, seed) {
			all = append(all, row.culprit)
		}
		return all
	}
	if !slices.Equal(words(1), words(1)) {
		t.Error("the same seed draws other rows")
	}
	if slices.Equal(words(1), words(2)) {
		t.Error("another seed draws the same rows")
	}
}

func TestDescribeLengths(t *testing.T) {
	for violations, want := range map[int]string{
		0: "exact duration of 104 phases. For all of them, podlapse's duration is correct",
		3: "exact duration of 104 phases. For 101 of them, podlapse's duration is correct",
	} {
		if got := describeLengths(104, violations); !strings.Contains(got, want) {
			t.Errorf("%d violations: got %q, want %q", violations, got, want)
		}
	}
}
