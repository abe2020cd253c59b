package cri

import "sync"

// cache keeps the values of the max keys that were added last; it drops the oldest key first. It is
// safe for concurrent use.
type cache[V any] struct {
	max int

	mu     sync.Mutex
	values map[string]V
	order  []string // oldest first
}

func newCache[V any](max int) *cache[V] { return &cache[V]{max: max, values: map[string]V{}} }

func (c *cache[V]) get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok := c.values[key]
	return value, ok
}

// add keeps the value of a new key. It does not replace the value of a known key.
func (c *cache[V]) add(key string, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.values[key]; ok {
		return
	}
	if len(c.order) >= c.max {
		delete(c.values, c.order[0])
		c.order = append(c.order[:0], c.order[1:]...)
	}
	c.values[key] = value
	c.order = append(c.order, key)
}
