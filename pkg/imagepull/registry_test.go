package imagepull

import (
	"strings"
	"testing"
)

const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestReferences(t *testing.T) {
	tests := []struct{ ref, registry, name string }{
		{"busybox", "docker.io", "docker.io/library/busybox:latest"},
		{"busybox:1.36", "docker.io", "docker.io/library/busybox:1.36"},
		{"library/busybox", "docker.io", "docker.io/library/busybox:latest"},
		{"index.docker.io/library/busybox", "docker.io", "docker.io/library/busybox:latest"},
		{"team/app:1", "docker.io", "docker.io/team/app:1"},
		{"localhost/app", "localhost", "localhost/app:latest"},
		{"127.0.0.1:5000/app:1", "127.0.0.1:5000", "127.0.0.1:5000/app:1"},
		{"[::1]:5000/app", "[::1]:5000", "[::1]:5000/app:latest"},
		{"registry.k8s.io/pause@" + digest, "registry.k8s.io", "registry.k8s.io/pause@" + digest},
		{"registry.k8s.io/pause:3.10@" + digest, "registry.k8s.io", "registry.k8s.io/pause@" + digest},
		{"", UnknownRegistry, ""},
		{"Upper", UnknownRegistry, ""},
		{"a b", UnknownRegistry, ""},
		{strings.TrimPrefix(digest, "sha256:"), UnknownRegistry, ""}, // an image ID
	}
	for _, test := range tests {
		if got := Registry(test.ref); got != test.registry {
			t.Errorf("Registry(%q) = %q, want %q", test.ref, got, test.registry)
		}
		got, err := Normalize(test.ref)
		if got != test.name || (err != nil) != (test.name == "") {
			t.Errorf("Normalize(%q) = %q, %v, want %q", test.ref, got, err, test.name)
		}
	}
}
