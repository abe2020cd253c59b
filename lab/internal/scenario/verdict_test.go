package scenario

import (
	"testing"
	"time"
)

func TestIncludeJudgesEveryAgent(t *testing.T) {
	right := func() *Verdict {
		v := &Verdict{}
		v.Compare("pull", time.Second, time.Second, time.Second, true, exact)
		return v
	}
	for name, test := range map[string]struct {
		other func(*Verdict)
		fails bool
	}{
		"both correct":     {func(v *Verdict) { v.Compared++ }, false},
		"one not compared": {func(v *Verdict) { v.Note("nothing") }, true},
		"one with a problem": {func(v *Verdict) {
			v.Compared++
			v.Problem("wrong")
		}, true},
		"one with a wrong number": {func(v *Verdict) {
			v.Compare("pull", time.Second, time.Second, 2*time.Second, true, exact)
		}, true},
	} {
		other := &Verdict{}
		test.other(other)
		all := &Verdict{}
		all.Include("with all sources", right())
		all.Include("without Events", other)
		if all.Failed() != test.fails {
			t.Errorf("%s: failed %v", name, all.Failed())
		}
	}
}
