package credentials

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

const image = "127.0.0.1:25000/ns/image"

func newStore(t *testing.T) (Store, Login) {
	t.Helper()
	s := Store{Dir: t.TempDir()}
	if err := s.CreateLogin(); err != nil {
		t.Fatal(err)
	}
	login, err := s.Login()
	if err != nil || login.Username == "" || len(login.Password) < 32 {
		t.Fatalf("a login with a user name of %d and a password of %d characters, %v", len(login.Username),
			len(login.Password), err)
	}
	return s, login
}

func requestText(apiVersion, image string) string {
	return `{"apiVersion": "` + apiVersion + `", "kind": "CredentialProviderRequest", "image": "` + image + `"}`
}

func (s Store) call(t *testing.T, input string) (status int, stdout, stderr string) {
	t.Helper()
	var out, problems bytes.Buffer
	status = Main([]string{s.Dir}, strings.NewReader(input), &out, &problems)
	return status, out.String(), problems.String()
}

// TestResponse compares the response with the example in the kubelet's documentation of the API.
func TestResponse(t *testing.T) {
	s, login := newStore(t)
	status, stdout, stderr := s.call(t, requestText("credentialprovider.kubelet.k8s.io/v1", image))
	var response map[string]any
	if err := json.Unmarshal([]byte(stdout), &response); err != nil || status != 0 || stderr != "" {
		t.Fatalf("status %d, %v, %s", status, err, stderr)
	}
	for key, want := range map[string]string{"apiVersion": "credentialprovider.kubelet.k8s.io/v1",
		"kind": "CredentialProviderResponse", "cacheKeyType": "Image", "cacheDuration": "0s"} {
		if response[key] != want {
			t.Errorf("%s is %v, want %s", key, response[key], want)
		}
	}
	auth, _ := response["auth"].(map[string]any)
	entry, _ := auth["127.0.0.1:25000"].(map[string]any)
	if len(auth) != 1 || entry["username"] != login.Username || entry["password"] != login.Password {
		t.Errorf("the response has %d logins, want only the login for the host of the image", len(auth))
	}
	runs, err := s.Runs(image)
	if err != nil || len(runs) != 1 || runs[0].Error != "" {
		t.Errorf("runs %+v, %v", runs, err)
	}
	if other, err := s.Runs("127.0.0.1:25000/ns/other"); err != nil || len(other) != 0 {
		t.Errorf("runs for another image: %+v, %v", other, err)
	}
}

func TestFaults(t *testing.T) {
	const delay = 50 * time.Millisecond
	s, _ := newStore(t)
	if err := s.SetFaults(Fault{Image: image, Delay: delay}, Fault{Image: "r/broken", Fail: "no route"}); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := s.call(t, requestText(APIVersion, image)); status != 0 {
		t.Errorf("delayed: %s", stderr)
	}
	runs, err := s.Runs(image)
	if err != nil || len(runs) != 1 || runs[0].EndAt.Sub(runs[0].StartAt) < delay {
		t.Errorf("runs %+v, %v, want a run of at least %s", runs, err, delay)
	}
	status, stdout, stderr := s.call(t, requestText(APIVersion, "r/broken"))
	if status == 0 || stdout != "" || stderr != "no route\n" {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if runs, err := s.Runs("r/broken"); err != nil || len(runs) != 1 || runs[0].Error != "no route" {
		t.Errorf("runs %+v, %v", runs, err)
	}
	if err := s.SetFaults(); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := s.call(t, requestText(APIVersion, "r/broken")); status != 0 {
		t.Errorf("after the end of the fault: %s", stderr)
	}
}

func TestInvalidRequests(t *testing.T) {
	s, login := newStore(t)
	for input, want := range map[string]string{
		"":                       "parse the kubelet's request",
		requestText("v2", image): `API version "v2"`,
		`{"kind": "Pod", "apiVersion": "credentialprovider.kubelet.k8s.io/v1"}`: `"Pod"`,
	} {
		status, stdout, stderr := s.call(t, input)
		if status == 0 || stdout != "" || !strings.Contains(stderr, want) || strings.Contains(stderr, login.Password) {
			t.Errorf("%s: status %d, stdout %q, stderr %q", input, status, stdout, stderr)
		}
	}
	var stderr bytes.Buffer
	if Main(nil, strings.NewReader(requestText(APIVersion, image)), &stderr, &stderr) == 0 {
		t.Error("a call without the directory is accepted")
	}
}

// TestPasswordIsOnlyInLogin checks that only root can read the file with the password, and that the log lacks the
// password.
func TestPasswordIsOnlyInLogin(t *testing.T) {
	s, login := newStore(t)
	if status, _, stderr := s.call(t, requestText(APIVersion, image)); status != 0 {
		t.Fatal(stderr)
	}
	log, err := os.ReadFile(s.logFile())
	if err != nil || len(log) == 0 || bytes.Contains(log, []byte(login.Password)) {
		t.Errorf("a log of %d bytes with the password, or %v", len(log), err)
	}
	if info, err := os.Stat(s.loginFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the login is %v, %v", info, err)
	}
}
