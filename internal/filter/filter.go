// Package filter selects the start-ups that match a request to the API. The package does no I/O and reads no clock. The
// API's request handlers call the package for lists and streams.
package filter

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Filter is the filter in a request. A start-up must match all fields. The zero value matches every start-up.
type Filter struct {
	Namespaces []string
	Name       string          // pod name, or the start of a pod name followed by *
	Owner      timeline.Owner  // an empty kind matches every kind; the case of the kind does not matter
	Labels     labels.Selector // nil matches all labels
	States     []timeline.State
	Phases     []timeline.Phase
	SlowerThan time.Duration // the total must be longer; if Phases is set, the sum of these phases must be longer
	Since      time.Time
	Gone       *bool
}

// Key holds the fields of a start-up that are available without its record.
type Key struct {
	Namespace, Name string
	State           timeline.State
	Total           time.Duration // duration; for a start-up in progress, the time so far
	SettledAt       time.Time     // zero while the start-up is in progress
	Gone            bool          // the pod's object was deleted
}

// Detail holds the fields of a start-up that only its record contains.
type Detail struct {
	Owner  timeline.Owner
	Labels string // text in the form of timeline.Pod.Labels
	Phases []PhaseTime
}

// PhaseTime is the duration of one phase.
type PhaseTime struct {
	Phase  timeline.Phase
	Length time.Duration
}

// KeyOf returns the key of a pod whose object still exists.
func KeyOf(t timeline.Timeline) Key {
	return Key{Namespace: t.Namespace, Name: t.Name, State: t.State, Total: t.Total, SettledAt: t.SettledAt}
}

// DetailOf returns the properties of a timeline that Match checks.
func DetailOf(t timeline.Timeline) Detail {
	d := Detail{Owner: t.Owner, Labels: t.Labels, Phases: make([]PhaseTime, 0, len(t.Phases))}
	for _, s := range t.Phases {
		d.Phases = append(d.Phases, PhaseTime{s.Phase, s.Duration()})
	}
	return d
}

// MayMatch reports whether a start-up with this key can match. If NeedsDetail returns true, the caller must also call
// Match.
func (f Filter) MayMatch(k Key) bool {
	return f.MatchesName(k) &&
		(len(f.States) == 0 || slices.Contains(f.States, k.State)) &&
		(f.SlowerThan == 0 || k.Total > f.SlowerThan) && // the phases together are never longer than the total
		(k.SettledAt.IsZero() || !k.SettledAt.Before(f.Since)) &&
		(f.Gone == nil || *f.Gone == k.Gone)
}

// Match reports whether the detail of a start-up matches the filter. Match does not check the key of the start-up, so
// the caller must call MayMatch first.
func (f Filter) Match(d Detail) bool { return f.placed(d) && f.phased(d) }

// NeedsDetail reports whether Match checks fields that only Detail contains.
func (f Filter) NeedsDetail() bool {
	return f.Owner != timeline.Owner{} || f.Labels != nil || len(f.Phases) > 0
}

// Belongs reports whether a start-up has the namespace, name, owner and labels in the filter. During a start-up, the
// result changes only if a user changes the pod's labels.
func (f Filter) Belongs(k Key, d Detail) bool { return f.MatchesName(k) && f.placed(d) }

// MatchesName reports whether a start-up has the namespace and the name in the filter. Both never change.
func (f Filter) MatchesName(k Key) bool {
	if len(f.Namespaces) > 0 && !slices.Contains(f.Namespaces, k.Namespace) {
		return false
	}
	if begin, ok := strings.CutSuffix(f.Name, "*"); ok {
		return strings.HasPrefix(k.Name, begin)
	}
	return f.Name == "" || f.Name == k.Name
}

// SameOwner reports whether the owner that a request names is the owner of a pod. SameOwner ignores the case of the
// kind. A request without a kind matches every kind.
func SameOwner(requested, owner timeline.Owner) bool {
	return requested.Name == owner.Name &&
		(requested.Kind == "" || strings.EqualFold(requested.Kind, owner.Kind))
}

func (f Filter) placed(d Detail) bool {
	if f.Owner.Name != "" && !SameOwner(f.Owner, d.Owner) {
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

// labelText holds a pod's labels as text.
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
