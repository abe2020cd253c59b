package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

func systemPod(uid, name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name + "-x", UID: types.UID(uid),
		Labels: map[string]string{"k8s-app": name}}}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if change != nil {
		change(p)
	}
	return p
}

func owned(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}
	}
}

func mustSelect(t *testing.T, given string) Selector {
	t.Helper()
	s, err := ParseSelector(given)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAddonNames(t *testing.T) {
	for _, c := range []struct {
		pod  *corev1.Pod
		want Addon
	}{
		{systemPod("1", "kube-dns", nil), Addon{Name: "kube-dns"}},
		{systemPod("1", "old", func(p *corev1.Pod) {
			owned("DaemonSet", "cilium")(p)
			p.Labels["app.kubernetes.io/name"], p.Labels["app.kubernetes.io/version"] = "cilium-agent", "1.19"
		}), Addon{"cilium-agent", "1.19", "DaemonSet"}},
		{systemPod("1", "old", func(p *corev1.Pod) {
			p.Annotations = map[string]string{componentName: "fluentbit", componentVersion: "1.8"}
			p.Labels["app.kubernetes.io/name"] = "other"
			p.Labels["pod-template-hash"] = "abc"
			owned("ReplicaSet", "fb-abc")(p)
		}), Addon{"fluentbit", "1.8", "Deployment"}},
		{systemPod("1", "", func(p *corev1.Pod) {
			p.Labels = map[string]string{"component": "etcd", "tier": "control-plane"}
			owned("Node", "node-a")(p)
		}), Addon{Name: "etcd", Controller: "Node"}},
		{systemPod("1", "", owned("StatefulSet", "store")), Addon{Name: "store", Controller: "StatefulSet"}},
		{systemPod("1", "", owned("Node", "node-a")), Addon{Name: "unnamed", Controller: "Node"}},
		// The name is cut to 63 bytes and stays valid UTF-8.
		{systemPod("1", strings.Repeat("ä", 40), nil), Addon{Name: strings.Repeat("ä", 31)}},
	} {
		if got := addonOf(c.pod); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.pod.Labels, got, c.want)
		}
	}
}

func TestAddons(t *testing.T) {
	now := noon()
	a := NewAddons(mustSelect(t, DefaultSelector), func() time.Time { return now })
	dns := Addon{Name: "dns"}
	expect := func(what string, available bool, want ...AddonState) {
		t.Helper()
		if got := a.State(); !slices.Equal(got.Addons, want) || got.Available != available {
			t.Errorf("%s: %+v, available %t; want %+v, %t", what, got.Addons, got.Available, want, available)
		}
	}
	expect("nothing there", true)
	a.Seen(systemPod("1", "dns", nil))
	a.Seen(systemPod("2", "dns", func(p *corev1.Pod) { p.Status.Conditions = nil }))
	a.Seen(systemPod("3", "dns", func(p *corev1.Pod) { p.Status.Phase, p.Status.Conditions = corev1.PodPending, nil }))
	a.Seen(systemPod("4", "proxy", nil))
	for i, not := range []func(*corev1.Pod){
		func(p *corev1.Pod) { p.Namespace = "shop" }, owned("Job", "install"),
		func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodSucceeded
		},
	} {
		p := systemPod(fmt.Sprint("not-", i), "dns", not)
		a.Restarted(p, podwatch.Restart{Times: 1})
		a.Seen(p)
	}
	proxy := AddonState{Addon{Name: "proxy"}, 1, 1, 1, 1}
	expect("one of three", false, AddonState{dns, 3, 2, 1, 1}, proxy)
	a.Gone("2")
	a.Seen(systemPod("3", "dns", nil))
	expect("two of two", true, AddonState{dns, 2, 2, 2, 2}, proxy)

	restart := podwatch.Restart{Container: "app", Times: 1, ExitCode: new(int32(7)),
		RestartKey: podwatch.RestartKey{Reason: podwatch.RestartError}}
	a.Restarted(systemPod("3", "dns", nil), restart)
	a.Restarted(systemPod("3", "dns", nil),
		podwatch.Restart{Container: "app", Times: 2, RestartKey: podwatch.RestartKey{Reason: podwatch.RestartUnknown}})
	expect("restarted a moment ago", false, AddonState{dns, 2, 2, 2, 1}, proxy)
	now = now.Add(stableAfter)
	expect("stable again", true, AddonState{dns, 2, 2, 2, 2}, proxy)
	want := map[RestartKind]uint64{{dns, "app", "error", "7"}: 1, {dns, "app", "unknown", "unknown"}: 2}
	if got := a.State().Restarts; !maps.Equal(got, want) {
		t.Errorf("restarts %v, want %v", got, want)
	}
	a.Seen(systemPod("4", "proxy", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }))
	for _, uid := range []string{"1", "3"} {
		a.Gone(uid)
	}
	expect("all gone", true)
	if got := a.State().Restarts; !maps.Equal(got, want) {
		t.Errorf("restarts of a deleted add-on that may be recreated: %v", got)
	}
	if len(a.pods)+len(a.unstable) > 0 {
		t.Errorf("keeps %v %v", a.pods, a.unstable)
	}
}

func TestAddonsAreBounded(t *testing.T) {
	a := NewAddons(mustSelect(t, DefaultSelector), noon)
	for i := range maxAddons + 5 {
		a.Seen(systemPod(fmt.Sprint(i), fmt.Sprintf("addon-%03d", i), nil))
	}
	if s := a.State(); len(s.Addons) != maxAddons || s.DroppedAddons != 5 {
		t.Errorf("%d reported, %d dropped", len(s.Addons), s.DroppedAddons)
	}
	crash := func(name string, code int) {
		a.Restarted(systemPod("0", name, nil), podwatch.Restart{Container: "app", Times: 1, ExitCode: new(int32(code))})
	}
	for code := range maxRestartSeries - 1 {
		crash("addon-000", code)
	}
	crash("gone", 0)
	crash("addon-000", 1000) // replaces the deleted add-on
	crash("addon-000", 1001)
	crash("addon-000", 1001)
	crash("addon-000", 0)
	s := a.State()
	if len(s.Restarts) != maxRestartSeries || s.DroppedRestarts != 2 ||
		s.Restarts[RestartKind{Addon{Name: "addon-000"}, "app", "", "0"}] != 2 {
		t.Errorf("got %d kinds of restart, %d dropped", len(s.Restarts), s.DroppedRestarts)
	}
}

func TestSelector(t *testing.T) {
	pod := systemPod("1", "dns", func(p *corev1.Pod) { p.Labels["tier"] = "node" })
	for given, want := range map[string]bool{
		"kube-system": true, "shop": false, "shop,kube-system": true, ":tier=node": true, ":tier in (node,edge)": true,
		"kube-system:k8s-app": true, "kube-system:!k8s-app": false, "shop:tier=node": false, "kube-system:": true,
	} {
		if got := mustSelect(t, given).matches(pod); got != want {
			t.Errorf("%q matches: %t", given, got)
		}
	}
	for given, want := range map[string]string{
		"": "selects all pods", ":": "selects all pods", "Kube": "invalid namespace",
		"a,,b": "invalid namespace", "a:b=c=d": "invalid label selector",
	} {
		if _, err := ParseSelector(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", given, err, want)
		}
	}
	if (Selector{}).matches(pod) {
		t.Error("the zero selector selects")
	}
}

// A tenant's pod with the labels of an add-on does not count as this add-on, and does not replace the add-on's own
// pods.
func TestPodsOfOtherNamespacesAreNotAddons(t *testing.T) {
	older := func(p *corev1.Pod) {
		owned("DaemonSet", "dns")(p)
		p.CreationTimestamp = metav1.NewTime(noon().Add(-time.Hour))
	}
	tenant := func(ready bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			owned("DaemonSet", "dns")(p)
			p.Namespace, p.CreationTimestamp = "tenant", metav1.NewTime(noon())
			if !ready {
				p.Status.Conditions = nil
			}
		}
	}
	dns := Addon{Name: "dns", Controller: "DaemonSet"}
	for _, c := range []struct {
		selector string
		dropped  int
	}{{DefaultSelector, 0}, {":k8s-app", 1}} {
		for _, first := range []bool{true, false} {
			a := NewAddons(mustSelect(t, c.selector), noon)
			if first {
				a.Seen(systemPod("stranger", "dns", tenant(false)))
			}
			a.Seen(systemPod("own", "dns", older))
			a.Seen(systemPod("stranger", "dns", tenant(false)))
			a.Restarted(systemPod("stranger", "dns", tenant(false)), podwatch.Restart{Container: "app", Times: 1})
			s := a.State()
			want := []AddonState{{dns, 1, 1, 1, 1}}
			if !slices.Equal(s.Addons, want) || !s.Available || s.DroppedAddons != c.dropped || len(s.Restarts) > 0 {
				t.Errorf("%s: %+v, want %+v, %d dropped", c.selector, s, want, c.dropped)
			}
		}
	}
	a := NewAddons(mustSelect(t, ":k8s-app"), noon)
	for i := range maxAddons {
		a.Seen(systemPod(fmt.Sprint("stranger-", i), fmt.Sprintf("aaa-%03d", i), tenant(true)))
	}
	a.Seen(systemPod("own", "dns", func(p *corev1.Pod) { older(p); p.Namespace = "platform" }))
	s := a.State()
	if !slices.ContainsFunc(s.Addons, func(state AddonState) bool { return state.Name == "dns" }) ||
		s.DroppedAddons != 1 || len(s.Addons) != maxAddons {
		t.Errorf("%d add-ons with smaller names displaced an older one: %d dropped", len(s.Addons),
			s.DroppedAddons)
	}
}
