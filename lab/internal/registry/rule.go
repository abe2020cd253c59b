// Package registry is the lab's image registry: a real one, served from this program. It can be made slow or broken
// while it runs, and it logs the time of everything that it does.
//
// Faults affect only reads (GET and HEAD). Images are pushed at full speed.
package registry

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"
)

// Kinds of requests, for Rule.Kind and Access.Kind.
const (
	KindManifest = "manifest"
	KindBlob     = "blob"
	KindOther    = "other"
)

// Rule is one fault. It applies to the requests that it matches. If several rules match, the first applies.
type Rule struct {
	Repository string `json:"repository"`      // path.Match pattern; "*" does not match a slash
	Kind       string `json:"kind,omitempty"`  // manifest or blob; if empty, both
	Times      int    `json:"times,omitempty"` // only for the first N matching requests; 0 for all

	Status          int      `json:"status,omitempty"`            // respond with this status instead
	BytesPerSecond  int64    `json:"bytes_per_second,omitempty"`  // of each response body
	Shared          bool     `json:"shared,omitempty"`            // for all bodies together, like one link
	Stall           Duration `json:"stall,omitzero"`              // pause once …
	StallAfterBytes int64    `json:"stall_after_bytes,omitempty"` // … after this many bytes of the body
	ResetAfterBytes int64    `json:"reset_after_bytes,omitempty"` // reset the connection after this many bytes
}

// Validate returns what is wrong with the rule.
func (r Rule) Validate() error {
	if _, err := path.Match(r.Repository, ""); err != nil || r.Repository == "" {
		return fmt.Errorf("repository %q is not a valid pattern", r.Repository)
	}
	if !slices.Contains([]string{"", KindManifest, KindBlob}, r.Kind) {
		return fmt.Errorf("kind %q: must be %s or %s", r.Kind, KindManifest, KindBlob)
	}
	statuses := []int{0, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusTooManyRequests, http.StatusInternalServerError}
	if !slices.Contains(statuses, r.Status) {
		return fmt.Errorf("status %d: must be one of %v", r.Status, statuses[1:])
	}
	if min(int64(r.Times), r.BytesPerSecond, int64(r.Stall.Duration), r.StallAfterBytes, r.ResetAfterBytes) < 0 {
		return fmt.Errorf("rule for %q: numbers must not be negative", r.Repository)
	}
	if r.Shared && r.BytesPerSecond == 0 {
		return fmt.Errorf("rule for %q: a shared link requires bytes_per_second", r.Repository)
	}
	if r.StallAfterBytes > 0 && r.Stall.Duration == 0 {
		return fmt.Errorf("rule for %q: stall_after_bytes %d requires stall", r.Repository, r.StallAfterBytes)
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

// Duration is written in Go's format, such as "2s".
type Duration struct{ time.Duration }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}
