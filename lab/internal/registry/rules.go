package registry

import (
	"fmt"
	"slices"
	"sync"
)

// rules are the faults in force. Safe for concurrent use.
type rules struct {
	mu      sync.Mutex
	current []Rule
	used    []int // how often each rule was applied
}

// replace puts a whole new set in force, or none if one of them is wrong. A rule that was in force before
// goes on counting.
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
	s.current, s.used = next, used
	return nil
}

func (s *rules) list() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Rule{}, s.current...)
}

// take returns the rule for a request and counts it; the zero rule does nothing.
func (s *rules) take(repository, kind string) Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, rule := range s.current {
		if !rule.matches(repository, kind) || rule.Times > 0 && s.used[i] >= rule.Times {
			continue
		}
		s.used[i]++
		return rule
	}
	return Rule{}
}
