package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// RandomLayer returns a new layer with one file of random bytes.
func RandomLayer(size int) (v1.Layer, error) {
	return layerOf("/payload-"+fresh(), 0o644, randomBytes(size))
}

func randomBytes(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.Read(content) // crypto/rand does not fail on Linux
	return content
}

// RandomLayers returns one layer of random bytes for each of the given sizes, in bytes.
func RandomLayers(sizes ...int) ([]v1.Layer, error) {
	var layers []v1.Layer
	for _, size := range sizes {
		layer, err := RandomLayer(size)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return layers, nil
}

// ManyFiles returns a new layer with the given number of tiny files. The layer is compressed, so the runtime needs more
// time to create the files than to download the layer.
func ManyFiles(count int) (v1.Layer, error) {
	const perDirectory = 1000
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	writer := tar.NewWriter(compressed)
	top := "files-" + fresh()
	for i := range count {
		directory := fmt.Sprintf("%s/%d", top, i/perDirectory)
		if i%perDirectory == 0 {
			header := &tar.Header{Typeflag: tar.TypeDir, Name: directory + "/", Mode: 0o755, ModTime: time.Unix(0, 0)}
			if err := writer.WriteHeader(header); err != nil {
				return nil, fmt.Errorf("create layer: %w", err)
			}
		}
		if err := addFile(writer, fmt.Sprintf("%s/%d", directory, i), 0o644, []byte{byte(i)}); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("create layer: %w", err)
	}
	if err := compressed.Close(); err != nil {
		return nil, fmt.Errorf("create layer: %w", err)
	}
	// The image's configuration must contain the digest of the uncompressed content. LayerFromOpener computes this
	// digest and the digest of the compressed content.
	layer, err := tarball.LayerFromOpener(opener(archive.Bytes()), tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("create layer: %w", err)
	}
	return layer, nil
}

// layerOf returns an uncompressed layer with one file. The layer is about as large as the file. The layer is not
// compressed, because most layers contain random bytes. Compression does not make random bytes smaller.
func layerOf(path string, mode int64, content []byte) (v1.Layer, error) {
	archive, err := archiveOf(path, mode, content)
	if err != nil {
		return nil, err
	}
	return static.NewLayer(archive, types.OCIUncompressedLayer), nil
}

// archiveOf returns a tar archive with one file.
func archiveOf(path string, mode int64, content []byte) ([]byte, error) {
	var archive bytes.Buffer
	archive.Grow(len(content) + 4096)
	writer := tar.NewWriter(&archive)
	if err := addFile(writer, path[1:], mode, content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("create layer: %w", err)
	}
	return archive.Bytes(), nil
}

func addFile(writer *tar.Writer, path string, mode int64, content []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: mode, Size: int64(len(content)),
		ModTime: time.Unix(0, 0)}
	if err := writer.WriteHeader(header); err != nil {
		return fmt.Errorf("create layer: %w", err)
	}
	if _, err := writer.Write(content); err != nil {
		return fmt.Errorf("create layer: %w", err)
	}
	return nil
}

func opener(data []byte) tarball.Opener {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// fresh returns a random name that no earlier layer used.
func fresh() string {
	var random [8]byte
	_, _ = rand.Read(random[:])
	return hex.EncodeToString(random[:])
}
