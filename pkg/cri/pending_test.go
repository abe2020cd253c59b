package cri

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestPendingMerges(t *testing.T) {
	p, now := newPending(), time.Unix(1000, 0)
	p.ask(timeline.LookUp{UID: "a", RuntimeUID: "old", Images: []string{"x", "y"}}, now)
	p.ask(timeline.LookUp{UID: "b", RuntimeUID: "b"}, now)
	p.ask(timeline.LookUp{UID: "a", RuntimeUID: "new", Images: []string{"y", "z"}}, now)

	q, lookUp, _ := p.take(now)
	if lookUp.UID != "a" || lookUp.RuntimeUID != "new" || !slices.Equal(lookUp.Images, []string{"x", "y", "z"}) {
		t.Fatalf("took %+v", lookUp)
	}
	// A request during a query can need a newer answer, so the query must be repeated once after the answer.
	p.ask(timeline.LookUp{UID: "a", RuntimeUID: "new", Images: []string{"1"}}, now)
	p.ask(timeline.LookUp{UID: "a", RuntimeUID: "new", Images: []string{"2"}}, now)
	if other, lookUp, _ := p.take(now); lookUp.UID != "b" {
		t.Fatalf("took %+v while a is running", lookUp)
	} else {
		p.finish(other, lookUp)
	}
	if other, _, _ := p.take(now); other != nil {
		t.Fatalf("took a while it is running")
	}
	p.finish(q, lookUp)
	q, lookUp, _ = p.take(now)
	if q == nil || !slices.Equal(lookUp.Images, []string{"1", "2"}) {
		t.Fatalf("took %+v after the first answer", lookUp)
	}
	p.finish(q, lookUp)
	if open := p.count(); open != 0 {
		t.Errorf("%d requests open at the end", open)
	}
	if _, _, wait := p.take(now); wait != time.Hour {
		t.Error("a request is still pending at the end")
	}
}

// TestPendingMergesLayers requests layers in every order in which requests can merge.
func TestPendingMergesLayers(t *testing.T) {
	p, now := newPending(), time.Unix(1000, 0)
	check := func(lookUp timeline.LookUp, images, layers []string) {
		t.Helper()
		if !slices.Equal(lookUp.Images, images) || !slices.Equal(lookUp.Layers, layers) {
			t.Errorf("took %+v, want images %v and layers %v", lookUp, images, layers)
		}
	}
	p.ask(timeline.LookUp{UID: "a", Images: []string{"x", "y"}, Layers: []string{"y"}}, now)
	p.ask(timeline.LookUp{UID: "a", Images: []string{"z"}, Layers: []string{"y", "w"}}, now)
	q, lookUp, _ := p.take(now)
	check(lookUp, []string{"x", "y", "z", "w"}, []string{"y", "w"})

	p.ask(timeline.LookUp{UID: "a", Layers: []string{"1"}}, now)
	p.ask(timeline.LookUp{UID: "a", Layers: []string{"2"}}, now)
	p.fail(q, lookUp, now) // the request is still open
	q, lookUp, _ = p.take(now.Add(connectRetries.Max))
	check(lookUp, []string{"x", "y", "z", "w", "1", "2"}, []string{"y", "w", "1", "2"})
	p.finish(q, lookUp)
}

func TestPendingRetriesAndGivesUp(t *testing.T) {
	p, now := newPending(), time.Unix(1000, 0)
	p.ask(timeline.LookUp{UID: "a"}, now)
	q, lookUp, _ := p.take(now)
	p.ask(timeline.LookUp{UID: "a", Images: []string{"x"}}, now)
	if p.fail(q, lookUp, now) {
		t.Fatal("gave up at the first failure")
	}
	again, _, wait := p.take(now)
	if again != nil {
		t.Fatal("retried at once")
	}
	if wait <= 0 || wait > connectRetries.Max {
		t.Fatalf("waits %v", wait)
	}
	now = now.Add(wait)
	q, lookUp, _ = p.take(now)
	if q == nil || !slices.Equal(lookUp.Images, []string{"x"}) {
		t.Fatalf("took %+v after the wait", lookUp)
	}
	now = now.Add(giveUpAfter + time.Second)
	if !p.fail(q, lookUp, now) {
		t.Fatal("did not give up")
	}
	if open := p.count(); open != 0 {
		t.Errorf("%d requests open at the end", open)
	}
}

func TestPendingIsBounded(t *testing.T) {
	p, now := newPending(), time.Unix(1000, 0)
	for i := range maxPending {
		if !p.ask(timeline.LookUp{UID: fmt.Sprint(i)}, now) {
			t.Fatalf("dropped number %d", i)
		}
	}
	if p.ask(timeline.LookUp{UID: "one more"}, now) {
		t.Error("took more than the limit")
	}
	if !p.ask(timeline.LookUp{UID: "0"}, now) {
		t.Error("dropped a request that merges with another")
	}
	if open := p.count(); open != maxPending {
		t.Errorf("open %d", open)
	}
	refs := make([]string, 2*maxImages)
	for i := range refs {
		refs[i] = fmt.Sprint(i)
	}
	got := merge(timeline.LookUp{Images: refs, Layers: refs}, timeline.LookUp{})
	if len(got.Images) != maxImages || len(got.Layers) != maxImages {
		t.Errorf("%d images and %d layers in one request", len(got.Images), len(got.Layers))
	}
}
