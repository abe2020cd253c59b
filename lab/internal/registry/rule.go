// Package registry implements the lab's image registry, which the lab's program serves. At any time, a scenario can
// make the registry slow or broken. The registry logs the time of each request.
//
// Faults apply only to reads (GET and HEAD). Pushes run at full speed.
package registry

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"
)

// The kinds of requests, for the fields Rule.Kind and Access.Kind.
const (
	KindManifest = "manifest"
	KindBlob     = "blob"
	KindOther    = "other"
)

// Rule defines one fault, and selects the requests to which this fault applies. If several rules match a request, the
// first matching rule applies.
type Rule struct {
	Repository string `json:"repository"`      // path.Match pattern; "*" does not match a slash
	Kind       string `json:"kind,omitempty"`  // "manifest" or "blob"; if empty, both kinds
	Times      int    `json:"times,omitempty"` // maximum number of affected requests; 0 means no limit

	Status         int   `json:"status,omitempty"`           // status of an error response that replaces the content
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"` // rate limit for each response body
	// If Shared is true, the rate limit applies to all bodies together, like the rate of one network link.
	Shared          bool     `json:"shared,omitempty"`
	Stall           Duration `json:"stall,omitzero"`              // duration of a single pause in the body
	StallAfterBytes int64    `json:"stall_after_bytes,omitempty"` // number of body bytes that are sent before the pause
	// number of body bytes that are sent before the registry resets the connection
	ResetAfterBytes int64 `json:"reset_after_bytes,omitempty"`
}

// Validate returns an error if the rule is invalid.
func (r Rule) Validate() error {
	if _, err := path.Match(r.Repository, ""); err != nil || r.Repository == "" {
		return fmt.Errorf("invalid repository %q: must be a non-empty pattern in the syntax of Go's path.Match, "+
			"for example podlapse-lab/*", r.Repository)
	}
	if !slices.Contains([]string{"", KindManifest, KindBlob}, r.Kind) {
		return fmt.Errorf("invalid kind %q: must be %q, %q or empty", r.Kind, KindManifest, KindBlob)
	}
	statuses := []int{0, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusTooManyRequests, http.StatusInternalServerError}
	if !slices.Contains(statuses, r.Status) {
		return fmt.Errorf("invalid status %d: must be one of %v", r.Status, statuses[1:])
	}
	if min(int64(r.Times), r.BytesPerSecond, int64(r.Stall.Duration), r.StallAfterBytes, r.ResetAfterBytes) < 0 {
		return fmt.Errorf("rule for %q: all numbers must be 0 or larger", r.Repository)
	}
	if r.Shared && r.BytesPerSecond == 0 {
		return fmt.Errorf("rule for %q: the field \"shared\" requires the field \"bytes_per_second\"", r.Repository)
	}
	if r.StallAfterBytes > 0 && r.Stall.Duration == 0 {
		return fmt.Errorf("rule for %q: the field \"stall_after_bytes\" requires the field \"stall\"", r.Repository)
	}
	return nil
}

func (r Rule) matches(repository, kind string) bool {
	if r.Kind != "" && r.Kind != kind {
		return false
	}
	ok, err := path.Match(r.Repository, repository)
	return ok && err == nil
}

// Duration is a duration that is written in Go's format, such as "2s".
type Duration struct{ time.Duration }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}
