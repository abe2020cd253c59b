package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHelm(t *testing.T) {
	got, err := parseHelm(strings.Fields("helm upgrade --install podlapse manifests/chart/podlapse -n podlapse "+
		"--create-namespace --set kubePrometheusStack.release=kps,stateDir.enabled=true"), ".")
	if err != nil {
		t.Fatal(err)
	}
	want := helmCall{release: "podlapse", chart: "manifests/chart/podlapse", namespace: "podlapse",
		installs: true, values: map[string]any{"kubePrometheusStack": map[string]any{"release": "kps"},
			"stateDir": map[string]any{"enabled": true}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(helmCall{})); diff != "" {
		t.Error("differences, - wanted, + got:\n" + diff)
	}
	for _, wrong := range []string{"helm uninstall podlapse", "helm upgrade podlapse", "helm install a b --surprise",
		"helm install a b -f"} {
		if _, err := parseHelm(strings.Fields(wrong), "."); err == nil {
			t.Errorf("%s must be an error", wrong)
		}
	}
}

// A documented upgrade must keep the values of the installation.
func TestHelmReleases(t *testing.T) {
	const install = "helm upgrade --install p chart -n p --set image.tag=1,release=kps"
	for _, test := range []struct {
		name  string
		calls []string
		want  map[string]any
		wrong string // part of the error of the last call
	}{
		{"the upgrade merges",
			[]string{install, "helm upgrade p chart -n p --reset-then-reuse-values --set image.x=2,a=b"},
			map[string]any{"image": map[string]any{"tag": int64(1), "x": int64(2)}, "release": "kps", "a": "b"}, ""},
		{"the upgrade changes a value", []string{install, "helm upgrade p chart -n p --reuse-values --set image.tag=2"},
			map[string]any{"image": map[string]any{"tag": int64(2)}, "release": "kps"}, ""},
		{"the upgrade has no values", []string{install, "helm upgrade p chart -n p"},
			map[string]any{"image": map[string]any{"tag": int64(1)}, "release": "kps"}, ""},
		{"three upgrades", []string{install, "helm upgrade p chart -n p --reset-then-reuse-values --set a=b",
			"helm upgrade p chart -n p --reset-then-reuse-values --set c=d",
			"helm upgrade p chart -n p --reuse-values --set e=f"},
			map[string]any{"image": map[string]any{"tag": int64(1)}, "release": "kps", "a": "b", "c": "d", "e": "f"},
			""},
		{"a second installation replaces the values", []string{install, "helm install p chart -n p --set a=b"},
			map[string]any{"a": "b"}, ""},
		{"a value is lost", []string{install, "helm upgrade p chart -n p --set image.tag=1"}, nil,
			`drops the value "release"`},
		{"a nested value is lost", []string{install, "helm upgrade p chart -n p --set image.x=1,release=kps"}, nil,
			`drops the value "image.tag"`},
		{"no installation", []string{"helm upgrade p chart -n p --reuse-values --set a=b"}, nil,
			"no earlier command installs"},
		{"another namespace", []string{install, "helm upgrade p chart --reuse-values --set a=b"}, nil,
			`requires the release "default/p"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var releases helmReleases
			for i, text := range test.calls {
				call, err := parseHelm(strings.Fields(text), ".")
				if err != nil {
					t.Fatal(err)
				}
				got, err := releases.valuesAfter("a.md", call)
				switch last := i == len(test.calls)-1; {
				case !last || test.wrong == "":
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(test.want, got); last && diff != "" {
						t.Error("differences, - wanted, + got:\n" + diff)
					}
				case err == nil || !strings.Contains(err.Error(), test.wrong):
					t.Errorf("error %v, want an error with %q", err, test.wrong)
				}
			}
		})
	}
}

// Each document starts with the first documented installation, without the changes of other documents.
func TestHelmReleasesOfDocuments(t *testing.T) {
	var releases helmReleases
	apply := func(file, text string) map[string]any {
		t.Helper()
		call, err := parseHelm(strings.Fields(text), ".")
		if err != nil {
			t.Fatal(err)
		}
		values, err := releases.valuesAfter(file, call)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	apply("a.md", "helm install p chart --set first=1")
	apply("a.md", "helm upgrade p chart --reuse-values --set second=2")
	apply("b.md", "helm install p chart --set other=3")
	got := apply("c.md", "helm upgrade p chart --reuse-values --set third=4")
	if diff := cmp.Diff(map[string]any{"first": int64(1), "third": int64(4)}, got); diff != "" {
		t.Error("differences, - wanted, + got:\n" + diff)
	}
}
