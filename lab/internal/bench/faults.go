package bench

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/podlapse/podlapse/lab/internal/registry"
)

// faults contains the bench's rules for the registry. faults is safe for concurrent use.
type faults struct {
	mu    sync.Mutex
	rules map[string]registry.Rule // one rule for each repository
}

func (f *faults) set(ctx context.Context, client registry.Client, next map[string]registry.Rule) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = next
	return f.send(ctx, client)
}

func (f *faults) change(ctx context.Context, client registry.Client, edit func(map[string]registry.Rule)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rules == nil {
		f.rules = make(map[string]registry.Rule)
	}
	edit(f.rules)
	return f.send(ctx, client)
}

func (f *faults) send(ctx context.Context, client registry.Client) error {
	var rules []registry.Rule
	for _, repository := range slices.Sorted(maps.Keys(f.rules)) {
		rules = append(rules, f.rules[repository])
	}
	return client.SetRules(ctx, rules...)
}

// Break sets the fault that the registry injects into pulls of one of the bench's images. Break does not change the
// faults for other images.
func (b *Bench) Break(ctx context.Context, name string, rule registry.Rule) error {
	rule.Repository = b.Namespace + "/" + name
	return b.faults.change(ctx, b.Registry, func(rules map[string]registry.Rule) { rules[rule.Repository] = rule })
}

// Repair removes the registry's fault for one of the bench's images.
func (b *Bench) Repair(ctx context.Context, name string) error {
	return b.faults.change(ctx, b.Registry,
		func(rules map[string]registry.Rule) { delete(rules, b.Namespace+"/"+name) })
}

// Throttle limits the rate of each registry response for all images of this bench. Throttle removes all other faults of
// the registry.
func (b *Bench) Throttle(ctx context.Context, bytesPerSecond int64) error {
	all := b.Namespace + "/*"
	return b.faults.set(ctx, b.Registry,
		map[string]registry.Rule{all: {Repository: all, BytesPerSecond: bytesPerSecond}})
}

// ThrottleImages limits the rate of each registry response for the named images of the bench. ThrottleImages removes
// all other faults of the registry.
func (b *Bench) ThrottleImages(ctx context.Context, bytesPerSecond int64, names ...string) error {
	rules := make(map[string]registry.Rule)
	for _, name := range names {
		repository := b.Namespace + "/" + name
		rules[repository] = registry.Rule{Repository: repository, BytesPerSecond: bytesPerSecond}
	}
	return b.faults.set(ctx, b.Registry, rules)
}
