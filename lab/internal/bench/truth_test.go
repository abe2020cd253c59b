package bench

import (
	"strings"
	"testing"
)

func TestSumOf(t *testing.T) {
	text := `# HELP a_sum words
a_sum{image_size_in_bytes="0-10MB"} 1.5
a_sum{image_size_in_bytes="10MB-100MB"} 20.25
a_sum_other 7
b 1
`
	if sum, err := sumOf(text, "a_sum"); err != nil || sum != 21.75 {
		t.Errorf("got %v, %v", sum, err)
	}
	if sum, err := sumOf(text, "none"); err != nil || sum != 0 {
		t.Errorf("got %v, %v", sum, err)
	}
	if _, err := sumOf("a_sum x", "a_sum"); err == nil || !strings.Contains(err.Error(), "a_sum") {
		t.Errorf("error %v", err)
	}
}

func TestFreshNamesDiffer(t *testing.T) {
	if FreshName("a") == FreshName("a") {
		t.Error("two fresh names are the same")
	}
}
