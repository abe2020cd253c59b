package runtimeproxy

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.sock")
	proxy := serveAt(t, "/nowhere.sock", path)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != fs.ModeSocket|socketMode {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	if _, err := Listen(Config{Runtime: "/nowhere.sock", Listen: path, Logger: zap.NewNop()}); err == nil ||
		!strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a second proxy: %v", err)
	}
	proxy.end(t)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket was not removed: %v", err)
	}
}

// A killed proxy leaves its socket file, and the next proxy replaces this file.
func TestStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.sock")
	killed, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	killed.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = killed.Close()
	runtime := filepath.Join(t.TempDir(), "r.sock")
	startRuntime(t, runtime)
	conn := connect(t, serveAt(t, runtime, path).path)
	request := &runtimeapi.VersionRequest{}
	if _, err := call(t.Context(), conn, "/runtime.v1.RuntimeService/Version", request); err != nil {
		t.Error(err)
	}
}

// A proxy does not remove a file that is not a socket, and does not remove the target of a link.
func TestOnlySocketsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	file, link, folder := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "folder")
	err := errors.Join(os.WriteFile(file, []byte("kept"), 0o600), os.Symlink(file, link), os.Mkdir(folder, 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, folder} {
		if _, err := Listen(Config{Runtime: "/nowhere.sock", Listen: path, Logger: zap.NewNop()}); err == nil ||
			!strings.Contains(err.Error(), "not a socket") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if text, err := os.ReadFile(link); err != nil || string(text) != "kept" {
		t.Errorf("the file contains %q, %v", text, err)
	}
	_, err = Listen(
		Config{Runtime: "/nowhere.sock", Listen: filepath.Join(dir, "none", "p.sock"), Logger: zap.NewNop()},
	)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a missing directory: %v", err)
	}
}

// The agent and the proxy receive the stop signal at the same time. The agent can use the runtime until it has stopped.
func TestClientsAreServedDuringStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	startRuntime(t, path)
	proxy := serve(t, path)
	conn := connect(t, proxy.path)
	version := func() error {
		_, err := call(t.Context(), conn, "/runtime.v1.RuntimeService/Version", &runtimeapi.VersionRequest{})
		return err
	}
	if err := version(); err != nil {
		t.Fatal(err)
	}
	proxy.stop()
	for range 3 {
		if err := version(); err != nil {
			t.Errorf("after the stop signal: %v", err)
		}
	}
	select {
	case err := <-proxy.done:
		t.Fatalf("the proxy exited although a client is connected: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	begun := time.Now()
	_ = conn.Close()
	proxy.end(t)
	if took := time.Since(begun); took > lingerLimit/2 {
		t.Errorf("the proxy exited %s after its last client", took)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	startRuntime(t, path)
	proxy := serve(t, path)
	open := make([]net.Conn, maxConnections)
	for i := range open {
		var err error
		if open[i], err = net.Dial("unix", proxy.path); err != nil {
			t.Fatal(err)
		}
		defer open[i].Close()
		if _, err := open[i].Read(make([]byte, 9)); err != nil { // the server's first frame
			t.Fatal(err)
		}
	}
	beyond, err := net.Dial("unix", proxy.path)
	if err != nil {
		t.Fatal(err)
	}
	defer beyond.Close()
	_ = beyond.SetReadDeadline(time.Now().Add(patience))
	if n, err := beyond.Read(make([]byte, 9)); n > 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("a connection over the limit: %d bytes, %v", n, err)
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the proxy notices closed connections with a delay
		_, err := call(
			t.Context(),
			connect(t, proxy.path),
			"/runtime.v1.RuntimeService/Version",
			&runtimeapi.VersionRequest{},
		)
		if err == nil {
			return
		}
		if time.Since(begun) > patience {
			t.Fatalf("after the others have disconnected: %v", err)
		}
	}
}
