package scenario

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/credentials"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// pluginDelay is the time that a slow credential provider plugin needs. pluginHook is the duration of a post-start hook
// that runs before the slow plugin.
const (
	pluginDelay = 4 * time.Second
	pluginHook  = 2 * time.Second
)

// pluginCases returns three cases, or no case if the kubelet has no credential provider plugin. In the first case, the
// plugin is slow. In the second case, the first container has a post-start hook, and the plugin is slow for the second
// container. In the third case, the plugin fails once. Then the kubelet pulls without credentials, and the registry
// refuses the pull.
func (p *pullRun) pluginCases(ctx context.Context) ([]pullCase, error) {
	guard := p.bench.Node.RegistryGuard()
	if !guard.IsSet() {
		return nil, nil
	}
	const slow, hook, broken = "plugin-slow", "plugin-hook", "plugin-fails"
	images := make(map[string]string)
	for _, name := range []string{slow, hook, broken} {
		var err error
		if images[name], err = p.pushColdImage(ctx, name); err != nil {
			return nil, err
		}
	}
	delays := []credentials.Fault{{Image: pluginsName(images[slow]), Delay: pluginDelay},
		{Image: pluginsName(images[hook]), Delay: pluginDelay}}
	mend := func(context.Context) error { return guard.Plugin().SetFaults(delays...) }
	hooked := plainCase(hook, images[hook], agent.Downloaded)
	first := bench.WithHook(corev1.Container{Name: hookedName, Image: p.bench.BaseImage}, pluginHook)
	hooked.spec.Containers = append([]corev1.Container{first}, hooked.spec.Containers...)
	hooked.wants = append(hooked.wants,
		wantedPull{container: hookedName, image: p.bench.BaseImage, outcome: agent.Present})
	cases := []pullCase{plainCase(slow, images[slow], agent.Downloaded), hooked,
		plainCase(broken, images[broken], agent.Downloaded).failsFirst(1, mend, "unauthorized")}
	cases[0].slowPlugin, cases[1].slowPlugin = true, true
	return cases, guard.Plugin().SetFaults(
		append(delays, credentials.Fault{Image: pluginsName(images[broken]), Fail: "injected by the scenario"})...)
}

// pluginsName returns the image name that the kubelet passes to the plugin.
func pluginsName(reference string) string {
	return layout.Address(layout.RegistryPort) + "/" + repositoryOf(reference)
}

// judgePlugin checks how the agent reports the time in which the kubelet waited for a slow credential provider plugin.
func (j *pullJudge) judgePlugin(c pullCase, timeline agent.Timeline) error {
	if !c.slowPlugin {
		return nil
	}
	runs, err := j.bench.Node.RegistryGuard().Plugin().Runs(pluginsName(c.wants[0].image))
	if err != nil {
		return err
	}
	if len(runs) != 1 || runs[0].Error != "" || runs[0].EndAt.Sub(runs[0].StartAt) < pluginDelay {
		j.verdict.Problem("%s: the kubelet must run the plugin once, for at least %s, but the plugin's log contains "+
			"%+v: the scenario is not conclusive", c.pod, pluginDelay, runs)
		return nil
	}
	j.judgePluginRun(c.pod, bench.Span{StartAt: runs[0].StartAt, EndAt: runs[0].EndAt}, timeline)
	return nil
}

// judgePluginRun requires that the agent reports a plugin's run as the phase kubelet_sync. The agent is also allowed to
// report the run as unattributed time if kubelet_sync is among the candidates. For an agent without the runtime, only
// the pod's status shows when the step before the plugin's run ended. Such an agent is allowed to report a part of the
// run as another phase. In this case, the largest accepted difference increases by the error bound of this other phase,
// but at most by stampUnit.
func (j *pullJudge) judgePluginRun(pod string, run bench.Span, timeline agent.Timeline) {
	const phase = "kubelet_sync"
	var right time.Duration
	limit := exact
	for _, p := range timeline.Phases {
		shared := sharedDuration(p, run.StartAt, run.EndAt)
		switch {
		case p.Phase == phase, p.IsGroup() && slices.Contains(p.MergedWith, phase):
			right += shared
		case shared > 0 && !j.sources.runtime:
			stated, err := agent.Nanoseconds(p.Error)
			if err != nil {
				j.verdict.Problem("%s: phase %s: %v", pod, p.Phase, err)
			}
			limit += min(stated, stampUnit)
		}
	}
	j.verdict.Compare(pod+" plugin as "+phase+" or unattributed", pluginDelay, run.Length(), right, true, limit)
}

// judgeSecrecy requires that the registry's password does not appear in the logs, in the agents' records, or in the
// agents' other files.
func (p *pullRun) judgeSecrecy(v *Verdict) error {
	n := p.bench.Node
	login, err := n.RegistryGuard().Login()
	if err != nil || !n.RegistryGuard().IsSet() {
		return err
	}
	secrets := [][]byte{[]byte(login.Password),
		[]byte(base64.StdEncoding.EncodeToString([]byte(login.Username + ":" + login.Password)))}
	for _, place := range []string{n.Logs(), n.AgentRecords(), n.AgentFiles(), n.KeptLogs(), keptIn(p.bench),
		n.In("pod-logs")} {
		err := filepath.WalkDir(place, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil // a file can disappear at any time, and not every directory exists
			}
			content, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("search for the registry's password: %w", err)
			}
			v.Compared++
			if slices.ContainsFunc(secrets, func(secret []byte) bool { return bytes.Contains(content, secret) }) {
				v.Problem("%s contains the password of the registry", path)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
