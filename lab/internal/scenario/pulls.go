package scenario

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// parallelPulls is how many images kubelet may pull at a time while the cases do not wait for each other.
const parallelPulls = 12

// pulls carries out every case. Those that fail wait most of their time for kubelet's next try, so they go side by
// side, and apart from the others, which go one at a time: two would measure each other on a small machine.
// Only the first back-off of a minute lasts through all of them.
func pulls(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	if err := b.Node.PullInParallel(ctx, parallelPulls); err != nil {
		return err
	}
	p, err := watchPulls(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.report(v)) }()
	backoff, failing, alone, err := p.cases(ctx)
	if err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	watched := p.watchLive(ctx)
	all, together := errgroup.WithContext(ctx)
	all.Go(func() error { return p.carryOut(together, backoff) })
	all.Go(func() error {
		if err := p.sideBySide(together, failing); err != nil {
			return err
		}
		for _, c := range alone {
			if err := p.carryOut(together, c); err != nil {
				return err
			}
		}
		return errors.Join(p.shared(together), p.same(together, "parallel"))
	})
	if err := all.Wait(); err != nil {
		return errors.Join(err, watched.stop())
	}
	if err := b.Node.PullSerially(ctx); err != nil {
		return errors.Join(err, watched.stop())
	}
	if err := errors.Join(p.same(ctx, "serial"), watched.stop()); err != nil {
		return err
	}
	for i, j := range p.judges {
		j.noteUnseen()
		j.judgeLive(watched[i])
	}
	return nil
}

// sideBySide carries cases out at the same time, each begun a little after the one before.
func (p *pullRun) sideBySide(ctx context.Context, cases []pullCase) error {
	const apart = 600 * time.Millisecond
	all, together := errgroup.WithContext(ctx)
	for i, c := range cases {
		all.Go(func() error {
			if err := sleep(together, time.Duration(i)*apart); err != nil {
				return err
			}
			return p.carryOut(together, c)
		})
	}
	return all.Wait()
}
