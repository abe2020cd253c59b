package cri

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestRequestQueueMerges(t *testing.T) {
	p, now := newRequestQueue(), time.Unix(1000, 0)
	p.add(timeline.RuntimeRequest{UID: "a", RuntimeUID: "old", Images: []string{"x", "y"}}, now)
	p.add(timeline.RuntimeRequest{UID: "b", RuntimeUID: "b"}, now)
	p.add(timeline.RuntimeRequest{UID: "a", RuntimeUID: "new", Images: []string{"y", "z"}}, now)

	q, request, _ := p.takeReady(now)
	if request.UID != "a" || request.RuntimeUID != "new" || !slices.Equal(request.Images, []string{"x", "y", "z"}) {
		t.Fatalf("took %+v", request)
	}
	// A request that arrives during a query can need a newer response. So the worker must repeat the query once.
	p.add(timeline.RuntimeRequest{UID: "a", RuntimeUID: "new", Images: []string{"1"}}, now)
	p.add(timeline.RuntimeRequest{UID: "a", RuntimeUID: "new", Images: []string{"2"}}, now)
	if other, request, _ := p.takeReady(now); request.UID != "b" {
		t.Fatalf("took %+v while request a is running", request)
	} else {
		p.finish(other, request)
	}
	if other, _, _ := p.takeReady(now); other != nil {
		t.Fatalf("took request a, which is already running")
	}
	p.finish(q, request)
	q, request, _ = p.takeReady(now)
	if q == nil || !slices.Equal(request.Images, []string{"1", "2"}) {
		t.Fatalf("took %+v after the first response", request)
	}
	p.finish(q, request)
	if open := p.count(); open != 0 {
		t.Errorf("%d requests open at the end", open)
	}
	if _, _, wait := p.takeReady(now); wait != time.Hour {
		t.Error("a request is still pending at the end")
	}
}

// TestRequestQueueMergesLayers requests layers in every order in which requests can merge.
func TestRequestQueueMergesLayers(t *testing.T) {
	p, now := newRequestQueue(), time.Unix(1000, 0)
	check := func(request timeline.RuntimeRequest, images, layers []string) {
		t.Helper()
		if !slices.Equal(request.Images, images) || !slices.Equal(request.Layers, layers) {
			t.Errorf("took %+v, want images %v and layers %v", request, images, layers)
		}
	}
	p.add(timeline.RuntimeRequest{UID: "a", Images: []string{"x", "y"}, Layers: []string{"y"}}, now)
	p.add(timeline.RuntimeRequest{UID: "a", Images: []string{"z"}, Layers: []string{"y", "w"}}, now)
	q, request, _ := p.takeReady(now)
	check(request, []string{"x", "y", "z", "w"}, []string{"y", "w"})

	p.add(timeline.RuntimeRequest{UID: "a", Layers: []string{"1"}}, now)
	p.add(timeline.RuntimeRequest{UID: "a", Layers: []string{"2"}}, now)
	p.retryOrGiveUp(q, request, now) // the request is still open
	q, request, _ = p.takeReady(now.Add(connectRetries.Max))
	check(request, []string{"x", "y", "z", "w", "1", "2"}, []string{"y", "w", "1", "2"})
	p.finish(q, request)
}

func TestRequestQueueRetriesAndGivesUp(t *testing.T) {
	p, now := newRequestQueue(), time.Unix(1000, 0)
	p.add(timeline.RuntimeRequest{UID: "a"}, now)
	q, request, _ := p.takeReady(now)
	p.add(timeline.RuntimeRequest{UID: "a", Images: []string{"x"}}, now)
	if p.retryOrGiveUp(q, request, now) {
		t.Fatal("gave up at the first failure")
	}
	again, _, wait := p.takeReady(now)
	if again != nil {
		t.Fatal("retried at once")
	}
	if wait <= 0 || wait > connectRetries.Max {
		t.Fatalf("waits %v", wait)
	}
	now = now.Add(wait)
	q, request, _ = p.takeReady(now)
	if q == nil || !slices.Equal(request.Images, []string{"x"}) {
		t.Fatalf("took %+v after the wait", request)
	}
	now = now.Add(giveUpAfter + time.Second)
	if !p.retryOrGiveUp(q, request, now) {
		t.Fatal("did not give up")
	}
	if open := p.count(); open != 0 {
		t.Errorf("%d requests open at the end", open)
	}
}

func TestRequestQueueIsBounded(t *testing.T) {
	p, now := newRequestQueue(), time.Unix(1000, 0)
	for i := range maxPending {
		if !p.add(timeline.RuntimeRequest{UID: fmt.Sprint(i)}, now) {
			t.Fatalf("dropped number %d", i)
		}
	}
	if p.add(timeline.RuntimeRequest{UID: "one more"}, now) {
		t.Error("took more than the limit")
	}
	if !p.add(timeline.RuntimeRequest{UID: "0"}, now) {
		t.Error("dropped a request that merges with another")
	}
	if open := p.count(); open != maxPending {
		t.Errorf("open %d", open)
	}
	refs := make([]string, 2*maxImages)
	for i := range refs {
		refs[i] = fmt.Sprint(i)
	}
	got := merge(timeline.RuntimeRequest{Images: refs, Layers: refs}, timeline.RuntimeRequest{})
	if len(got.Images) != maxImages || len(got.Layers) != maxImages {
		t.Errorf("%d images and %d layers in one request", len(got.Images), len(got.Layers))
	}
}
