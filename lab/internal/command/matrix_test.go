package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMatrixRefusesUselessResults checks that the command "matrix" does not touch the node if its results would not be
// useful.
func TestMatrixRefusesUselessResults(t *testing.T) {
	dir := t.TempDir()
	agent := func(version string) string {
		path := filepath.Join(dir, "agent-"+version)
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho podlapse-agent "+version+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	noImage := filepath.Join(dir, "image.tar")
	if err := os.WriteFile(noImage, []byte("not an archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		arguments arguments
		want      string
	}{
		"uncommitted changes": {arguments{agent: agent("abc-dirty"), image: noImage}, "uncommitted changes"},
		"an invalid image":    {arguments{agent: agent("abc"), image: noImage}, "--image"},
		"a missing image":     {arguments{agent: agent("abc"), image: noImage + "x"}, "no such file"},
	} {
		_, err := checkAgent(t.Context(), test.arguments)
		var usage UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
