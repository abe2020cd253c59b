package imagepull

import "testing"

func TestSplitReference(t *testing.T) {
	for ref, want := range map[string][2]string{
		"busybox":                              {"docker.io/library/busybox", "latest"},
		"team/app:1":                           {"docker.io/team/app", "1"},
		"127.0.0.1:5000/app":                   {"127.0.0.1:5000/app", "latest"},
		"127.0.0.1:5000/a/b:1":                 {"127.0.0.1:5000/a/b", "1"},
		"registry.k8s.io/pause@" + digest:      {"registry.k8s.io/pause", digest},
		"registry.k8s.io/pause:3.10@" + digest: {"registry.k8s.io/pause", "3.10"},
		"":                                     {},
		"Upper":                                {},
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855": {},
	} {
		if repository, tag := SplitReference(ref); repository != want[0] || tag != want[1] {
			t.Errorf("%q names %q, %q; want %q", ref, repository, tag, want)
		}
	}
}
