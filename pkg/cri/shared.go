package cri

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// downloadsAge is how old an answer may be.
const downloadsAge = time.Second

// sharedDownloads keeps the latest answer for those who ask soon after. No goroutine of its own asks: the first
// who finds the answer too old does, and the others wait for it, each as long as it may.
type sharedDownloads struct {
	timeout time.Duration
	now     func() time.Time
	slot    chan struct{} // capacity 1, full while someone holds what follows
	answer  []imagepull.Download
	err     error
	at      time.Time // zero before the first answer
}

func newSharedDownloads(timeout time.Duration, now func() time.Time) *sharedDownloads {
	return &sharedDownloads{timeout: timeout, now: now, slot: make(chan struct{}, 1)}
}

// get asks unless there is an answer. What ask does is never done twice at a time.
func (d *sharedDownloads) get(ctx context.Context,
	ask func(context.Context) ([]imagepull.Download, error)) ([]imagepull.Download, error) {
	brief, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	select {
	case d.slot <- struct{}{}:
		defer func() { <-d.slot }()
	case <-brief.Done():
		return nil, fmt.Errorf("wait for downloads: %w", brief.Err())
	}
	if age := d.now().Sub(d.at); d.at.IsZero() || age < 0 || age >= downloadsAge {
		answer, err := ask(brief)
		if err != nil && ctx.Err() != nil {
			return nil, err // its caller's own end tells the others nothing
		}
		d.answer, d.err, d.at = answer, err, d.now()
	}
	return slices.Clone(d.answer), d.err
}
