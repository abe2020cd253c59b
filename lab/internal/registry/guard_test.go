package registry

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/credentials"
)

// freeAddress returns a loopback address on which no process listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// guarded serves a registry with a guard until the end of the test.
func guarded(t *testing.T) (guard Guard, images string, control Client) {
	t.Helper()
	guard = Guard{Dir: t.TempDir()}
	if err := guard.Create(); err != nil {
		t.Fatal(err)
	}
	images, control = freeAddress(t), Client{Address: freeAddress(t)}
	failed := make(chan error, 1) // enough space for the only result
	go func() { failed <- Serve(t.Context(), t.TempDir()+"/blobs", guard, control.Address, images) }()
	for deadline := time.Now().Add(time.Minute); control.Healthy(t.Context()) != nil; {
		select {
		case err := <-failed:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the registry does not respond")
		}
	}
	return guard, images, control
}

// send sends a request with a login, which can be empty.
func (g Guard) send(t *testing.T, method, address, path string, login credentials.Login) (int, []byte, error) {
	t.Helper()
	transport, err := g.Transport()
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), method, g.URL(address)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if login != (credentials.Login{}) {
		request.SetBasicAuth(login.Username, login.Password)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if response.StatusCode == http.StatusUnauthorized &&
		!strings.HasPrefix(response.Header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("%s: the response does not request a login", path)
	}
	return response.StatusCode, body, err
}

func TestGuardRequiresLogin(t *testing.T) {
	guard, images, control := guarded(t)
	login, err := guard.Login()
	if err != nil {
		t.Fatal(err)
	}
	// The rule must apply to the first request with the login, and not to an earlier request without the login.
	if err := control.SetRules(t.Context(), Rule{Repository: "red/*", Status: 500, Times: 1}); err != nil {
		t.Fatal(err)
	}
	wrong := credentials.Login{Username: login.Username, Password: "wrong"}
	for _, step := range []struct {
		path  string
		login credentials.Login
		want  int
	}{
		{"/v2/", credentials.Login{}, 401}, {"/v2/", wrong, 401}, {"/v2/", login, 200},
		{"/v2/red/image/manifests/1", credentials.Login{}, 401}, {"/v2/red/image/manifests/1", login, 500},
		{"/v2/red/image/manifests/1", login, 404},
		{"/v2/red/image-pause/manifests/1", credentials.Login{}, 404}, // public, but missing
	} {
		status, body, err := guard.send(t, http.MethodGet, images, step.path, step.login)
		if err != nil || status != step.want || bytes.Contains(body, []byte(login.Password)) {
			t.Errorf("%s: status %d, %v, want %d", step.path, status, err, step.want)
		}
	}
	// Only reads of a public repository need no login.
	if status, _, err := guard.send(t, http.MethodPost, images, "/v2/red/image-pause/blobs/uploads/",
		credentials.Login{}); status != 401 {
		t.Errorf("push without a login: status %d, %v", status, err)
	}
	log := bench{t, images, control}.logged("red/image", 3)
	if len(log) != 3 || !log[0].Anonymous || log[1].Anonymous || log[2].Anonymous {
		t.Errorf("log %+v", log)
	}
}

func TestGuardRequiresTLS(t *testing.T) {
	_, images, _ := guarded(t)
	status, _, err := Guard{}.send(t, http.MethodGet, images, "/v2/", credentials.Login{})
	if err == nil && status != http.StatusBadRequest {
		t.Errorf("plain HTTP: status %d", status)
	}
	response, err := http.Get("https://" + images + "/v2/")
	if err == nil {
		response.Body.Close()
		t.Error("the system's authorities signed the certificate")
	}
}

// TestResetOverTLS checks that a rule also breaks off a response over TLS.
func TestResetOverTLS(t *testing.T) {
	guard, images, control := guarded(t)
	login, err := guard.Login()
	if err != nil {
		t.Fatal(err)
	}
	if err := control.SetRules(t.Context(), Rule{Repository: "red/*", ResetAfterBytes: 10}); err != nil {
		t.Fatal(err)
	}
	status, body, err := guard.send(t, http.MethodGet, images, "/v2/red/image/manifests/1", login)
	if err == nil || len(body) > 10 {
		t.Errorf("status %d with %d bytes, want a broken connection after 10 bytes", status, len(body))
	}
}

func TestHosts(t *testing.T) {
	const server, mirror = "https://127.0.0.1:1", "http://127.0.0.1:2"
	plain := "server = \"" + server + "\"\n[host.\"" + mirror + "\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
	if got := (Guard{}).Hosts(server, mirror); got != plain {
		t.Errorf("without a guard:\n%s", got)
	}
	// The key "ca" of the server must come before the first table.
	want := strings.Replace(plain, "[host", "ca = \"/guard/ca.crt\"\n[host", 1)
	if got := (Guard{Dir: "/guard"}).Hosts(server, mirror); got != want {
		t.Errorf("with a guard:\n%s", got)
	}
	if got := (Guard{Dir: "/guard"}).Hosts(mirror, server); !strings.HasSuffix(got, "\nca = \"/guard/ca.crt\"\n") ||
		strings.Count(got, "ca = ") != 1 {
		t.Errorf("with a guard and a mirror:\n%s", got)
	}
}
