// Package filter decides which start-ups match a request to the API. It is pure. The API uses it
// for lists and streams, from the goroutines of requests.
package filter

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Filter is a request's filter; all fields must match. The zero value matches every start-up.
type Filter struct {
	Namespaces []string
	Name       string          // a prefix if it ends with *
	Owner      timeline.Owner  // without a kind: of any
	Labels     labels.Selector // nil for any
	States     []timeline.State
	Phases     []timeline.Phase
	SlowerThan time.Duration // of the phases together, if there are any, otherwise of the total
	Since      time.Time
	Gone       *bool
}

// Key holds what is known about a start-up without its record.
type Key struct {
	Namespace, Name string
	State           timeline.State
	Total           time.Duration // so far, while in progress
	SettledAt       time.Time     // zero while in progress
	Gone            bool          // the pod's object was removed
}

// Detail is what only a start-up's record shows.
type Detail struct {
	Owner  timeline.Owner
	Labels string // as in timeline.Pod
	Phases []PhaseTime
}

// PhaseTime is the duration of one phase.
type PhaseTime struct {
	Phase  timeline.Phase
	Length time.Duration
}

// KeyOf returns the key of a present pod.
func KeyOf(t timeline.Timeline) Key {
	return Key{Namespace: t.Namespace, Name: t.Name, State: t.State, Total: t.Total, SettledAt: t.SettledAt}
}

// DetailOf returns the detail of a timeline.
func DetailOf(t timeline.Timeline) Detail {
	d := Detail{Owner: t.Owner, Labels: t.Labels, Phases: make([]PhaseTime, 0, len(t.Phases))}
	for _, s := range t.Phases {
		d.Phases = append(d.Phases, PhaseTime{s.Phase, s.Duration()})
	}
	return d
}

// MayMatch reports whether a start-up can match, by its key alone.
func (f Filter) MayMatch(k Key) bool {
	return f.named(k) &&
		(len(f.States) == 0 || slices.Contains(f.States, k.State)) &&
		(f.SlowerThan == 0 || k.Total > f.SlowerThan) && // phases are part of the total
		(k.SettledAt.IsZero() || !k.SettledAt.Before(f.Since)) &&
		(f.Gone == nil || *f.Gone == k.Gone)
}

// Match reports whether a start-up matches. MayMatch must be true for it.
func (f Filter) Match(d Detail) bool { return f.placed(d) && f.phased(d) }

// NeedsDetail reports whether Match checks more than MayMatch.
func (f Filter) NeedsDetail() bool {
	return f.Owner != timeline.Owner{} || f.Labels != nil || len(f.Phases) > 0
}

// Belongs reports whether a start-up can match now, earlier or later: it checks only fields that never change.
func (f Filter) Belongs(k Key, d Detail) bool { return f.named(k) && f.placed(d) }

func (f Filter) named(k Key) bool {
	if len(f.Namespaces) > 0 && !slices.Contains(f.Namespaces, k.Namespace) {
		return false
	}
	if begin, ok := strings.CutSuffix(f.Name, "*"); ok {
		return strings.HasPrefix(k.Name, begin)
	}
	return f.Name == "" || f.Name == k.Name
}

func (f Filter) placed(d Detail) bool {
	if f.Owner.Name != "" && (f.Owner.Name != d.Owner.Name || f.Owner.Kind != "" && f.Owner.Kind != d.Owner.Kind) {
		return false
	}
	return f.Labels == nil || f.Labels.Matches(labelText(d.Labels))
}

func (f Filter) phased(d Detail) bool {
	if len(f.Phases) == 0 {
		return true
	}
	met, spent := false, time.Duration(0)
	for _, p := range d.Phases {
		if slices.Contains(f.Phases, p.Phase) {
			met = true
			spent += p.Length
		}
	}
	return met && (f.SlowerThan == 0 || spent > f.SlowerThan)
}

// labelText is labels as text; it implements labels.Labels.
type labelText string

// Has implements labels.Labels.
func (l labelText) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

// Get implements labels.Labels.
func (l labelText) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}

// Lookup implements labels.Labels.
func (l labelText) Lookup(key string) (string, bool) {
	for pair := range strings.SplitSeq(string(l), ",") {
		if k, value, ok := strings.Cut(pair, "="); ok && k == key {
			return value, true
		}
	}
	return "", false
}
