package cri

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// downloadsAge is the maximum age of a shared response.
const downloadsAge = time.Second

// sharedDownloads gives all callers the same response until the response is as old as downloadsAge. sharedDownloads
// starts no goroutine. If the response is too old, the first caller sends a new query, and the other callers wait for
// the new response. A caller stops waiting when its context ends or the timeout is over.
type sharedDownloads struct {
	timeout  time.Duration
	now      func() time.Time
	slot     chan struct{} // a lock with capacity 1; full while a goroutine uses the fields below
	response []imagepull.Download
	err      error
	at       time.Time // zero before the first response
}

func newSharedDownloads(timeout time.Duration, now func() time.Time) *sharedDownloads {
	return &sharedDownloads{timeout: timeout, now: now, slot: make(chan struct{}, 1)}
}

// latestOrQuery returns the latest response if it is recent. Without a recent response, latestOrQuery calls the
// function "query". Only one call of "query" runs at a time.
func (d *sharedDownloads) latestOrQuery(
	ctx context.Context, query func(context.Context) ([]imagepull.Download, error),
) ([]imagepull.Download, error) {
	brief, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	select {
	case d.slot <- struct{}{}:
		defer func() { <-d.slot }()
	case <-brief.Done():
		return nil, fmt.Errorf("another query for the progress of image downloads is still running: %w", brief.Err())
	}
	if age := d.now().Sub(d.at); d.at.IsZero() || age < 0 || age >= downloadsAge {
		response, err := query(brief)
		if err != nil && ctx.Err() != nil {
			return nil, err // do not keep this error for other callers: only this caller's context ended
		}
		d.response, d.err, d.at = response, err, d.now()
	}
	return slices.Clone(d.response), d.err
}
