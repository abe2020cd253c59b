package registry

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// link represents the link that all bodies of a shared rule use. link is safe for concurrent use.
type link struct {
	mu   sync.Mutex
	free time.Time // time when all earlier bytes have passed the link
}

// pass returns the time when this many additional bytes have passed the link at this rate.
func (l *link) pass(bytes, bytesPerSecond int64, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(bytes) / float64(bytesPerSecond) * float64(time.Second)))
	return l.free
}

// rules contains the active faults. rules is safe for concurrent use.
type rules struct {
	mu      sync.Mutex
	current []Rule
	used    []int // number of applications of each rule
	links   map[Rule]*link
}

// replace activates a new set of rules. If one of the rules is invalid, replace changes nothing. If a rule was already
// active, replace keeps the count of this rule.
func (s *rules) replace(next []Rule) error {
	for i, rule := range next {
		if err := rule.Validate(); err != nil {
			return fmt.Errorf("rule %d: %w", i, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	used := make([]int, len(next))
	for i, rule := range next {
		if before := slices.Index(s.current, rule); before >= 0 {
			used[i] = s.used[before]
		}
	}
	links := make(map[Rule]*link)
	for _, rule := range next {
		if !rule.Shared {
			continue
		}
		if links[rule] = s.links[rule]; links[rule] == nil {
			links[rule] = &link{}
		}
	}
	s.current, s.used, s.links = next, used, links
	return nil
}

func (s *rules) list() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Rule{}, s.current...)
}

// take returns and counts the rule for a request. If the rule is shared, take also returns its link. If no rule
// matches, take returns the zero rule, which has no effect.
func (s *rules) take(repository, kind string) (Rule, *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, rule := range s.current {
		if !rule.matches(repository, kind) || rule.Times > 0 && s.used[i] >= rule.Times {
			continue
		}
		s.used[i]++
		return rule, s.links[rule]
	}
	return Rule{}, nil
}
