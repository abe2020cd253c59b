package scenario

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// parallelPulls is the maximum number of images that the kubelet pulls at the same time. The number is so high that no
// case waits for another case.
const parallelPulls = 12

// The scenario "pulls" runs all pull cases. The cases in the group "failing" run concurrently, because they mostly
// wait for the kubelet's next attempt. The cases in the group "alone" run one at a time. On a small machine,
// concurrent pulls would disturb the measurements of these cases. The kubelet's back-off in the case "backoff" takes
// about a minute, so this case runs during all other cases.
func pulls(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	if err := b.Node.PullInParallel(ctx, parallelPulls); err != nil {
		return err
	}
	p, err := watchPulls(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.checkAgents(v)) }()
	backoff, failing, alone, err := p.createCases(ctx)
	if err != nil {
		return err
	}
	if err := p.awaitAgents(ctx); err != nil {
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
		return errors.Join(p.pullShared(together), p.pullSame(together, "parallel"))
	})
	if err := all.Wait(); err != nil {
		return errors.Join(err, watched.stop())
	}
	if err := b.Node.PullSerially(ctx); err != nil {
		return errors.Join(err, watched.stop())
	}
	if err := errors.Join(p.pullSame(ctx, "serial"), watched.stop()); err != nil {
		return err
	}
	for i, j := range p.judges {
		j.noteUnseen()
		j.judgeLive(watched[i])
	}
	return nil
}

// sideBySide runs cases concurrently. The cases start 600 ms apart.
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
