package registry

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// link simulates a network link. If a rule's field Shared is true, all responses under this rule use the same link.
// link is safe for concurrent use.
type link struct {
	mu   sync.Mutex
	free time.Time // time when the link finishes the transfer of all bytes so far
}

// transfer simulates the transfer of bytes over the link at the given rate. The result is the time when the last of
// these bytes has passed the link.
func (l *link) transfer(bytes, bytesPerSecond int64, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(bytes) / float64(bytesPerSecond) * float64(time.Second)))
	return l.free
}

// activeRules contains the active rules. It is safe for concurrent use.
type activeRules struct {
	mu      sync.Mutex
	current []Rule
	used    []int // how often each rule was applied
	links   map[Rule]*link
}

// replaceRules activates a new list of rules. If any rule is invalid, the active rules do not change. If a rule was
// already active, replaceRules keeps the number of requests to which this rule was applied.
func (s *activeRules) replaceRules(next []Rule) error {
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

func (s *activeRules) list() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Rule{}, s.current...)
}

// useRule returns the rule for a request, and counts the use of the rule. If the rule's field Shared is true, useRule
// also returns the link that all responses under this rule use. If no rule matches, useRule returns the zero Rule,
// which has no effect.
func (s *activeRules) useRule(repository, kind string) (Rule, *link) {
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
