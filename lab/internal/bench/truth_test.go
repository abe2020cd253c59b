package bench

import "testing"

func TestFreshNamesDiffer(t *testing.T) {
	if one, other := FreshName("a"), FreshName("a"); one == other {
		t.Error("two fresh names are the same")
	}
}
