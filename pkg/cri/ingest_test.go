package cri

import (
	"fmt"
	"strings"
	"testing"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	"github.com/opencontainers/go-digest"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestParseRefKey(t *testing.T) {
	d := digest.FromString("x")
	for ref, want := range map[string]string{
		"layer-" + d.String():                     "layer",
		"manifest-" + d.String():                  "manifest",
		"index-" + d.String():                     "index",
		"config-" + d.String():                    "config",
		"unknown-" + d.String():                   "unknown",
		"layer-app:1@" + d.String():               "layer", // a descriptor with a name
		"layer-some-registry/a@b:c@" + d.String(): "layer",
		d.String():                                "",
		"layer-sha256:abc":                        "",
		"layer-":                                  "",
		"":                                        "",
		"import-unknown-layer@sha256:../../../root": "",
	} {
		kind, blob, ok := parseRefKey(ref)
		if ok != (want != "") || ok && (kind != want || blob != d) {
			t.Errorf("%q: %q %q %t, want %q", ref, kind, blob, ok, want)
		}
	}
}

func TestRunningIngests(t *testing.T) {
	now := second(1000)
	at := func(s float64) *timestamppb.Timestamp { return timestamppb.New(second(s)) }
	d := digest.FromString
	running := runningIngests([]*contentapi.Status{
		{Ref: "layer-" + d("a").String(), Offset: 5, Total: 9, StartedAt: at(900), UpdatedAt: at(999)},
		{Ref: "manifest-" + d("m").String(), Offset: -5, Total: -9},
		{Ref: "layer-" + d("stalled").String(), StartedAt: at(500), UpdatedAt: at(600)},
		{Ref: "layer-" + d("abandoned").String(), StartedAt: at(100), UpdatedAt: at(300)},
		{Ref: "config-" + d("huge").String(), Offset: 1 << 60, Total: 1 << 62, UpdatedAt: at(2000)},
		{Ref: "something else"},
	}, now)
	want := map[digest.Digest]ingest{
		d("a"):       {digest: d("a"), done: 5, total: 9, startedAt: second(900), updatedAt: second(999)},
		d("m"):       {digest: d("m"), manifest: true},
		d("stalled"): {digest: d("stalled"), startedAt: second(500), updatedAt: second(600)},
		d("huge"):    {digest: d("huge"), updatedAt: second(2000)},
	}
	if len(running) != len(want) {
		t.Errorf("got %+v", running)
	}
	for blob, i := range want {
		if running[blob] != i {
			t.Errorf("got %+v, want %+v", running[blob], i)
		}
	}

	var many []*contentapi.Status
	for i := range 2 * maxIngests {
		many = append(many, &contentapi.Status{Ref: "layer-" + d(fmt.Sprint(i)).String()})
	}
	if n := len(runningIngests(many, now)); n != maxIngests {
		t.Errorf("%d at once", n)
	}
}

func TestManifestsAreBounded(t *testing.T) {
	blob := digest.FromString("layer")
	m := manifestsOf{running: map[digest.Digest]ingest{blob: {}}}
	for i := range 500 {
		info := &contentapi.Info{
			Digest:    digest.FromString(fmt.Sprint(i)).String(),
			UpdatedAt: timestamppb.New(second(0).Add(time.Duration(i*37%500) * time.Second)),
			Labels:    map[string]string{"containerd.io/gc.ref.content.config": digest.FromString("config").String()},
		}
		if i%2 == 0 {
			info.Labels["containerd.io/gc.ref.content.l.3"] = blob.String()
		}
		m.add(info)
		info.Labels["containerd.io/gc.ref.content.l.3"] = digest.FromString("another").String()
		m.add(info) // the manifest has labels for its layers, and containerd is downloading none of these layers
	}
	m.add(&contentapi.Info{Digest: "sha256:none",
		Labels: map[string]string{"containerd.io/gc.ref.content.l.0": blob.String()}})
	if len(m.named) != maxDownloads || len(m.unlabelled) != maxUnlabelled {
		t.Errorf("%d named, %d unlabelled", len(m.named), len(m.unlabelled))
	}
	for i, u := range m.unlabelled { // the manifests without layer labels have the odd seconds
		if want := second(float64(499 - 2*i)); u.updatedAt != want {
			t.Errorf("entry %d is from %v, want %v", i, u.updatedAt, want)
		}
	}
}

func TestSourceOf(t *testing.T) {
	const host = "containerd.io/distribution.source."
	for _, test := range []struct {
		labels               map[string]string
		registry, repository string
	}{
		{nil, "", ""},
		{map[string]string{host + "docker.io": "library/nginx", "containerd.io/uncompressed": "x"}, "docker.io",
			"library/nginx"},
		{map[string]string{host + "docker.io": "library/nginx,mirror/nginx"}, "docker.io", ""},
		{map[string]string{host + "docker.io": "library/nginx", host + "127.0.0.1": "library/nginx"}, "", ""},
	} {
		if registry, repository := sourceOf(test.labels); registry != test.registry || repository != test.repository {
			t.Errorf("%v: %q %q", test.labels, registry, repository)
		}
	}
}

// FuzzParseRefKey parses arbitrary names, because clients of containerd can choose any name.
func FuzzParseRefKey(f *testing.F) {
	d := digest.FromString("x").String()
	for _, seed := range []string{"", "-", "@", "layer-" + d, "layer-app:1@" + d, d, "layer-@",
		"layer-sha512:" + d[7:]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		kind, blob, ok := parseRefKey(ref)
		if ok && (blob.Validate() != nil || !strings.HasPrefix(ref, kind+"-") ||
			!strings.HasSuffix(ref, blob.String())) {
			t.Errorf("%q: %q %q", ref, kind, blob)
		}
	})
}
