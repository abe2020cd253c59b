package agentimage

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// The command `make image-test` sets these flags to the files that it built.
var (
	archive = flag.String("archive", "", "OCI archive of the image")
	again   = flag.String("again", "", "OCI archive of another build from the same sources in another directory")
	agent   = flag.String("agent", "", "agent program from make build")
	version = flag.String("version", "", "version of both images and the program")
)

const (
	program      = "podlapse-agent"
	certificates = "etc/ssl/certs/ca-certificates.crt"
)

func index(t *testing.T, archive string) v1.ImageIndex {
	t.Helper()
	if archive == "" {
		t.Skip("no image: run make image-test")
	}
	index, err := Open(archive, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestImageIsReproducible(t *testing.T) {
	first, err := index(t, *archive).Digest()
	if err != nil {
		t.Fatal(err)
	}
	second, err := index(t, *again).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("two builds have the digests %s and %s", first, second)
	}
}

func TestImageContents(t *testing.T) {
	index := index(t, *archive)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	for _, descriptor := range manifest.Manifests {
		platform := descriptor.Platform
		t.Run(platform.String(), func(t *testing.T) {
			machine, ok := machines[platform.Architecture]
			if !ok || platform.OS != "linux" {
				t.Fatalf("unexpected image for %s", platform)
			}
			delete(machines, platform.Architecture)
			image, err := index.Image(descriptor.Digest)
			if err != nil {
				t.Fatal(err)
			}
			checkConfiguration(t, image, platform.Architecture)
			files := contents(t, image)
			if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, []string{certificates, program}) {
				t.Fatalf("the image contains %q", got)
			}
			if !x509.NewCertPool().AppendCertsFromPEM(files[certificates]) {
				t.Error("the certificate file has no certificates")
			}
			requireStatic(t, files[program], machine)
			if platform.Architecture == runtime.GOARCH {
				requireBuilt(t, files[program])
			}
		})
	}
	if len(machines) != 0 {
		t.Errorf("no image for %v", slices.Collect(maps.Keys(machines)))
	}
}

func checkConfiguration(t *testing.T, image v1.Image, architecture string) {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config := file.Config
	if file.OS != "linux" || file.Architecture != architecture {
		t.Errorf("the configuration is for %s/%s", file.OS, file.Architecture)
	}
	if config.User != "65532:65532" {
		t.Errorf("runs as %q", config.User)
	}
	if !slices.Equal(config.Entrypoint, []string{"/" + program}) || !slices.Equal(config.Cmd, []string{"run"}) {
		t.Errorf("runs %q %q", config.Entrypoint, config.Cmd)
	}
	if got := config.Labels["org.opencontainers.image.version"]; got != *version {
		t.Errorf("the version label is %q, want %q", got, *version)
	}
}

// contents returns the regular files of an image. The test fails if the image contains other entries than files and
// directories.
func contents(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	flat := mutate.Extract(image)
	defer flat.Close()
	files := map[string][]byte{}
	for reader := tar.NewReader(flat); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		switch header.Typeflag {
		case tar.TypeDir:
		case tar.TypeReg:
			data, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimPrefix(header.Name, "/")
			files[name] = data
			if header.Mode&0o004 == 0 || header.Mode&0o022 != 0 || name == program && header.Mode&0o001 == 0 {
				t.Errorf("%s has mode %o, want it usable by every user and writable by root only", name, header.Mode)
			}
		default:
			t.Errorf("%s is neither a file nor a directory", header.Name)
		}
	}
}

// requireStatic requires that the program is statically linked and runs on the given machine type.
func requireStatic(t *testing.T, data []byte, machine elf.Machine) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if file.Machine != machine {
		t.Errorf("the program is for %s, want %s", file.Machine, machine)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is linked dynamically (%s)", segment.Type)
		}
	}
}

// requireBuilt requires that the program has the build settings of make build, and the expected version.
func requireBuilt(t *testing.T, data []byte) {
	t.Helper()
	built, err := os.ReadFile(*agent)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(built, data) {
		t.Errorf("the program differs from that of make build: %d bytes, want %d", len(data), len(built))
	}
	path := filepath.Join(t.TempDir(), program)
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}
	reported, err := exec.Command(path, "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := program + " " + *version + " "; !strings.HasPrefix(string(reported), want) {
		t.Errorf("version prints %q, want %q", reported, want)
	}
}
