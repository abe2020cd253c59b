package tally

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

// saveEvery is the minimum time between two saves. If the agent is killed, the sums lose the start-ups since the last
// save.
const saveEvery = time.Minute

// A start-up can end while no agent runs. If the pod reached the node more than caughtUp before the next agent's start,
// the next agent does not report the start-up, and the sums lack it. caughtUp equals newsFor in cmd/agent.
const caughtUp = time.Hour

// format is the version of the saved sums. A Tally ignores sums in any other format.
const format = 1

// saved is the content of the file with the sums.
type saved struct {
	Format int         `json:"format"`
	Node   string      `json:"node"`
	Began  api.Instant `json:"began"`
	At     api.Instant `json:"at"` // time of the save
	Hours  []savedHour `json:"hours"`
}

type savedHour struct {
	Start  api.Instant      `json:"start"`
	Totals api.TotalsRecord `json:"totals"`
	Items  []api.ReportItem `json:"items"`
}

// Encode returns the sums as JSON, for Restore.
func (t *Tally) Encode() ([]byte, error) {
	now := t.config.Now()
	content := saved{Format: format, Node: t.config.Node, At: api.InstantOf(now), Hours: []savedHour{}}
	t.mu.Lock()
	content.Began = api.InstantOf(t.beganAt(now))
	for _, h := range t.hours {
		record := h.sums.Record()
		content.Hours = append(content.Hours, savedHour{api.InstantOf(h.start), *record.Totals, record.Items})
	}
	t.mu.Unlock()
	text, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the sums for the report: %w", err)
	}
	return append(text, '\n'), nil
}

// Restore adds the saved sums of the previous agent on the node. If Restore returns an error, the Tally is unchanged.
// The caller must call Restore before other goroutines use the Tally.
func (t *Tally) Restore(text []byte) error {
	var content saved
	if err := json.Unmarshal(text, &content); err != nil {
		return fmt.Errorf("parse the sums for the report: %w", err)
	}
	switch {
	case content.Format != format:
		return fmt.Errorf("unknown format version %d: must be %d", content.Format, format)
	case content.Node != t.config.Node:
		return fmt.Errorf("the sums belong to node %.100q, but the agent runs on node %q", content.Node, t.config.Node)
	case content.Began.IsZero():
		return errors.New("the field \"began\" is missing")
	}
	now := t.config.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	began := content.Began.Time
	if caught := now.Add(-caughtUp); content.At.Before(caught) && began.Before(caught) {
		began = caught // the sums can lack start-ups that ended between the save and "caught"
	}
	if began.Before(t.began) {
		t.began = now.Add(began.Sub(now)) // time.Time.Add keeps the monotonic clock reading, which beganAt needs
	}
	for _, h := range content.Hours {
		i := t.hourAt(h.Start.Time, now)
		if i < 0 {
			continue
		}
		t.adjustLimit(i)
		sums := t.hours[i].sums
		sums.addTotals(h.Totals)
		for _, item := range h.Items {
			if item.Kind == api.ReportWorkload || item.Kind == api.ReportImage {
				sums.add(item)
			}
		}
		t.compact()
	}
	return nil
}

// Run saves the sums one minute after a change. When ctx is done, Run saves the sums immediately and returns nil. The
// function "write" replaces the saved sums. If several saves fail in a row, Run passes only the first error to the
// function "failed".
func (t *Tally) Run(ctx context.Context, write func([]byte) error, failed func(error)) error {
	failing := false
	save := func() {
		text, err := t.Encode()
		if err == nil {
			err = write(text)
		}
		if err != nil && !failing {
			failed(err)
		}
		if failing = err != nil; failing {
			t.signal() // the method Run then tries again in a minute
		}
	}
	for {
		select {
		case <-t.changed:
		case <-ctx.Done():
			save() // save even without a change, because the next agent needs the time of the save
			return nil
		}
		select {
		case <-time.After(saveEvery):
			save()
		case <-ctx.Done():
			save()
			return nil
		}
	}
}

// signal reports unsaved changes to Run.
func (t *Tally) signal() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}
