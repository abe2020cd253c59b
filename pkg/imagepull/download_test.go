package imagepull

import "testing"

func TestDownloadOf(t *testing.T) {
	for _, c := range []struct {
		host, repository, ref string
		want                  bool
	}{
		{"docker.io", "library/nginx", "nginx", true},
		{"r.example", "x", "r.example:5000/x:1", true},
		{"::1", "x", "[::1]:5000/x:1", true},
		{"fd00::1", "x", "[fd00::1]/x", true},
		{"::1", "x", "[::2]:5000/x:1", false},
		{"r.example", "x", "r.example/y", false},
		{"r.example", "", "r.example/x", false},
		{"unknown", "", "Upper", false},
	} {
		if got := (Download{Registry: c.host, Repository: c.repository}).FromRepositoryOf(c.ref); got != c.want {
			t.Errorf("repository %s at host %s matches %s: %v", c.repository, c.host, c.ref, got)
		}
	}
}
