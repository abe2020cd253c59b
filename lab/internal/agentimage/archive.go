package agentimage

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Open unpacks an OCI archive into an empty directory. The archive must contain exactly one image, which can support
// several platforms. The returned index lists the variants of the image, one for each platform. The index reads files
// from the directory later, so the caller must not remove the directory while the index is in use.
func Open(archive, dir string) (v1.ImageIndex, error) {
	if err := unpack(archive, dir); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", archive, err)
	}
	path, err := layout.FromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	outer, err := path.ImageIndex()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("read %s: the archive must contain exactly one image, but contains %d", archive,
			len(manifest.Manifests))
	}
	return outer.ImageIndex(manifest.Manifests[0].Digest)
}

func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	root, err := os.OpenRoot(dir) // names in the archive cannot refer to files outside the directory
	if err != nil {
		return err
	}
	defer root.Close()
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := write(root, filepath.Clean(header.Name), reader); err != nil {
			return err
		}
	}
}

func write(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.Create(name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
