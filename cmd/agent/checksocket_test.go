package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
)

// If the socket is mounted but cannot be used, the command `check` does not suggest to mount the socket.
func TestCheckExplainsSocketProblems(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "c.sock"))
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "unix://" + listener.Addr().String()
	api := agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t))
	want := func(remedy string) {
		t.Helper()
		_, text := checked(t, "--kubeconfig", api, "--cri-endpoint", endpoint)
		if !strings.Contains(text, "failed   runtime ") || !strings.Contains(text, remedy) {
			t.Errorf("no %q in\n%s", remedy, text)
		}
	}
	want("remedy: the runtime does not respond") // the listener sends no response
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	want("remedy: no process listens on this socket")
	if err := os.Remove(listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	want("remedy: mount the directory of the runtime's socket")
	// gRPC's text for a missing permission. The test cannot cause this error, because root can use any socket.
	const refused = `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: ` +
		`dial unix /c.sock: connect: permission denied"`
	if remedy := runtimeRemedy(refused); !strings.Contains(remedy, "the group that owns the socket") ||
		!strings.Contains(remedy, "spc_t") {
		t.Error(remedy)
	}
	for _, silent := range []string{
		"rpc error: code = DeadlineExceeded desc = context deadline exceeded",
		`connection error: desc = "error reading server preface: raw-read unix @->/c.sock: use of closed network ` +
			`connection"`,
	} {
		if remedy := runtimeRemedy(silent); !strings.Contains(remedy, "does not respond") {
			t.Errorf("%s: %s", silent, remedy)
		}
	}
	const noProxy = `dial unix /run/podlapse/runtime.sock: connect: no such file or directory`
	// The runtime proxy forwards this error, which names the runtime's socket.
	const proxied = `dial unix /run/containerd/containerd.sock: connect: permission denied`
	if remedy := runtimeRemedy(noProxy); !strings.Contains(remedy, "container runtime-proxy") ||
		runtimeRemedy(proxied) == remedy {
		t.Error(remedy)
	}
}
