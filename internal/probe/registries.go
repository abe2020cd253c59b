package probe

import (
	"context"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/backoff"
)

// registryPrefix is the prefix of the names of probes for the registries that pods pull from. Probe names in the
// configuration cannot contain a colon. Therefore, no probe in the configuration has a name with this prefix.
const registryPrefix = "registry:"

// hub is the name of Docker Hub in image references. hubHost is the host name of Docker Hub's registry (containerd:
// core/remotes/docker, DefaultHost).
const hub, hubHost = "docker.io", "registry-1.docker.io"

// followRegistries probes the most used registries concurrently, once per interval. When ctx is done, followRegistries
// returns the names of the probes whose series still exist.
func (r *Runner) followRegistries(ctx context.Context, config Registries) (names []string) {
	probed := map[string]*followed{}
	warned := map[string]bool{} // refused registries that are already in the log
	for wait := random(config.Interval.Duration); backoff.Sleep(ctx, wait); wait = config.pause(random) {
		top := slices.DeleteFunc(r.config.Pulled(ctx), func(host string) bool {
			err := checkFollowed(host, slices.Contains(config.PlainHTTP, host))
			if err != nil && len(warned) < maxRegistries && !warned[host] {
				warned[host] = true
				r.config.Logger.Warn("cannot probe a registry", zap.String("registry", shorten(host)), zap.Error(err))
			}
			return err != nil
		})
		top = top[:min(len(top), config.Top)]
		for host, f := range probed {
			if !slices.Contains(top, host) {
				delete(probed, host)
				r.config.Recorder.Forget(f.probe.Name)
			}
		}
		for _, host := range top {
			if probed[host] == nil {
				probed[host] = r.follow(registryProbe(config, host))
			}
		}
		var probing sync.WaitGroup
		for _, f := range probed {
			probing.Go(func() { f.attemptOnce(ctx) })
		}
		probing.Wait()
	}
	for _, f := range probed {
		names = append(names, f.probe.Name)
	}
	return names
}

func registryProbe(config Registries, host string) Probe {
	p := Probe{
		Name: registryPrefix + host, Kind: KindRegistry, Target: host, Pace: config.Pace,
		PlainHTTP: slices.Contains(config.PlainHTTP, host), followed: true,
	}
	if host == hub {
		p.Target = hubHost
	}
	return p
}
