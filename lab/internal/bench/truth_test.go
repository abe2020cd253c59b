package bench

import "testing"

func TestFreshNamesDiffer(t *testing.T) {
	if FreshName("a") == FreshName("a") {
		t.Error("two fresh names are the same")
	}
}
