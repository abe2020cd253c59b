package registry

import (
	"fmt"
	"sync"
)

// rules are the faults in force. Safe for concurrent use.
type rules struct {
	mu      sync.Mutex
	current []Rule
	used    []int // how often each rule was applied
}

// replace puts a whole new set in force, or none if one of them is wrong.
func (s *rules) replace(next []Rule) error {
	for i, rule := range next {
		if err := rule.Validate(); err != nil {
			return fmt.Errorf("rule %d: %w", i, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.used = next, make([]int, len(next))
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
