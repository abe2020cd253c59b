package cri

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

var thisMachine = platforms.OnlyStrict(ocispec.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH})

func TestForPlatform(t *testing.T) {
	d := digest.FromString
	entry := func(name, platform string) string {
		if platform == "" {
			return fmt.Sprintf(`{"digest":%q}`, d(name))
		}
		os, arch, _ := strings.Cut(platform, "/")
		arch, variant, _ := strings.Cut(arch, "/")
		return fmt.Sprintf(`{"digest":%q,"platform":{"os":%q,"architecture":%q,"variant":%q}}`, d(name), os, arch,
			variant)
	}
	index := `{"manifests":[` + strings.Join([]string{
		entry("any", ""), entry("attestation", "unknown/unknown"), entry("386", "linux/386"),
		entry("arm7", "linux/arm/v7"),
		entry("amd64", "linux/amd64"), entry("windows", "windows/amd64"), entry("arm64", "linux/arm64"),
		entry("arm6", "linux/arm/v6"),
	}, ",") + `]}`
	parsed, err := parseDocument([]byte(index))
	if err != nil {
		t.Fatal(err)
	}
	for machine, want := range map[string][]digest.Digest{
		"linux/amd64":   {d("amd64"), d("386"), d("any")},
		"linux/arm64":   {d("arm64"), d("arm7"), d("arm6"), d("any")},
		"linux/riscv64": {d("any")},
	} {
		if got := parsed.forPlatform(platforms.Only(platforms.MustParse(machine))); !slices.Equal(got, want) {
			t.Errorf("%s: got %v\nwant %v", machine, got, want)
		}
	}
}
