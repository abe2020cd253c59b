package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// NodeStartUp is the start-up of the node, as the agent reports it.
type NodeStartUp struct {
	State      string
	Partial    bool
	BootedAt   time.Time `json:"booted_at"`
	Total      float64   `json:"total_seconds"`
	TotalError float64   `json:"total_error_seconds"`
	Verdict    string
	Phases     []NodePhase
	Milestones []NodeMilestone
	NotReady   []struct{ Message string } `json:"not_ready"`
	Taints     []NodeTaint
	Missing    []string
}

// NodePhase is one phase of the start-up of the node.
type NodePhase struct {
	Phase, Cause, Step, Pod, Taint string
	StartAt                        time.Time `json:"start_at"`
	EndAt                          time.Time `json:"end_at"`
	Seconds                        float64
	Error                          float64 `json:"error_seconds"`
	Candidates                     []string
}

// NodeMilestone contains a milestone of the node's start-up, and the interval in which the milestone happened.
type NodeMilestone struct {
	Milestone        string
	Earliest, Latest time.Time
}

// NodeTaint is a start-up taint. A component adds this taint before the node can take workloads, and removes it later.
type NodeTaint struct {
	Key, Owner       string
	RemovedAt        time.Time `json:"removed_at"`
	Earliest, Latest time.Time
}

// Sum calls the function "match" for each phase. If "match" returns true, Sum adds the duration and the error bound of
// the phase to its results.
func (s NodeStartUp) Sum(match func(NodePhase) bool) (total, bound time.Duration) {
	var seconds, errors float64
	for _, p := range s.Phases {
		if match(p) {
			seconds, errors = seconds+p.Seconds, errors+p.Error
		}
	}
	return duration(seconds), duration(errors)
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// TotalLength returns the duration of the node's start-up, and the error bound of this duration.
func (s NodeStartUp) TotalLength() (total, bound time.Duration) {
	return duration(s.Total), duration(s.TotalError)
}

// NodeStartUp returns the start-up of the agent's node.
func (c Client) NodeStartUp(ctx context.Context) (s NodeStartUp, err error) {
	data, err := c.get(ctx, "/api/v1/node/startup")
	if err == nil {
		err = decode(data, &s)
	}
	return s, err
}

// nodeStartUpLine is the prefix of each line with a record about the start-up of a node.
var nodeStartUpLine = []byte(`{"node_startup":`)

// NodeStartUps returns the number of node start-up records that agents printed to a file.
func NodeStartUps(file string) (count int, err error) {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read the agent's records: %w", err)
	}
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(line, nodeStartUpLine) {
			count++
		}
	}
	return count, nil
}
