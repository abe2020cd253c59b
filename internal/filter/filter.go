// Package filter decides which start-ups a reader of the API asked for. It is pure; the API uses it
// for lists and streams alike.
package filter

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Filter is what a reader asked for; all must hold. The zero value takes every start-up.
type Filter struct {
	Namespaces []string
	Name       string          // with a * at the end: a beginning
	Owner      timeline.Owner  // without a kind: of any
	Labels     labels.Selector // nil for any
	States     []timeline.State
	Phases     []timeline.Phase
	SlowerThan time.Duration // of the phases together, if there are any, else of all
	Since      time.Time
	Gone       *bool
}

// Key is what is known of a start-up without looking into it.
type Key struct {
	Namespace, Name string
	State           timeline.State
	Total           time.Duration // so far, while it goes on
	SettledAt       time.Time     // zero while it goes on
	Gone            bool          // the pod's object is gone
}

// Detail is what a start-up must be looked into for.
type Detail struct {
	Owner  timeline.Owner
	Labels string // as timeline.Pod has them
	Phases []PhaseTime
}

// PhaseTime is how long a start-up was in a phase at a time.
type PhaseTime struct {
	Phase  timeline.Phase
	Length time.Duration
}

// KeyOf is the key of a pod that is there.
func KeyOf(t timeline.Timeline) Key {
	return Key{Namespace: t.Namespace, Name: t.Name, State: t.State, Total: t.Total, SettledAt: t.SettledAt}
}

// DetailOf is the detail of a timeline.
func DetailOf(t timeline.Timeline) Detail {
	d := Detail{Owner: t.Owner, Labels: t.Labels, Phases: make([]PhaseTime, 0, len(t.Phases))}
	for _, s := range t.Phases {
		d.Phases = append(d.Phases, PhaseTime{s.Phase, s.Duration()})
	}
	return d
}

// MayMatch says whether a start-up can be meant, by its key alone.
func (f Filter) MayMatch(k Key) bool {
	return f.named(k) &&
		(len(f.States) == 0 || slices.Contains(f.States, k.State)) &&
		(f.SlowerThan == 0 || k.Total > f.SlowerThan) && // phases are part of the total
		(k.SettledAt.IsZero() || !k.SettledAt.Before(f.Since)) &&
		(f.Gone == nil || *f.Gone == k.Gone)
}

// Match says whether a start-up is meant that MayMatch.
func (f Filter) Match(d Detail) bool { return f.placed(d) && f.phased(d) }

// NeedsDetail says whether Match can tell more than MayMatch.
func (f Filter) NeedsDetail() bool {
	return f.Owner != timeline.Owner{} || f.Labels != nil || len(f.Phases) > 0
}

// Belongs says whether a start-up can ever be meant, or could have been: by what does not change as it goes on.
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
