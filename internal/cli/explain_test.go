package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/api"
)

const responseRecord = `{"namespace":"shop","name":"web-0","uid":"1","node":"node-a","state":"ready",` +
	`"created_at":"2026-03-01T12:00:00Z","settled_at":"2026-03-01T12:00:02Z","total_seconds":2,` +
	`"total_error_seconds":0.5,"verdict":"2.0 s to ready: 2.0 s pulling from docker.io; ±0.5 s",` +
	`"phases":[{"phase":"pull","cause":"registry","container":"app","start_at":"2026-03-01T12:00:00Z",` +
	`"end_at":"2026-03-01T12:00:02Z","seconds":2,"error_seconds":0.001,"sources":["cri"]}],` +
	`"pulls":[],"milestones":[],"conflicts":[],"missing":[]}`

// explain runs the command against a server that sends the same response to every request. explain also returns the
// requested path.
func explain(t *testing.T, status int, body string, args ...string) (code int, stdout, stderr, path string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	args = append([]string{"explain", "--server", server.URL}, args...)
	code = run(context.Background(), args, environment{}.get, &out, &errs)
	return code, out.String(), errs.String(), path
}

func TestExplainPod(t *testing.T) {
	code, stdout, stderr, path := explain(t, http.StatusOK, responseRecord, "shop/web-0")
	if code != ExitOK || path != "/api/v1/pods/shop/web-0" ||
		!strings.HasPrefix(stdout, "shop/web-0: 2.0 s to ready: 2.0 s pulling from docker.io; ±0.5 s\n") {
		t.Errorf("exit %d, asked %s\n%s%s", code, path, stdout, stderr)
	}
}

func TestExplainAllPods(t *testing.T) {
	code, stdout, stderr, path := explain(t, http.StatusOK, `{"items":[`+responseRecord+`,`+responseRecord+`]}`)
	if code != ExitOK || path != "/api/v1/pods" || strings.Count(stdout, "\nshop/web-0  ready") != 2 {
		t.Errorf("exit %d, asked %s\n%s%s", code, path, stdout, stderr)
	}
}

func TestExplainFails(t *testing.T) {
	for name, test := range map[string]struct {
		status     int
		body, want string
		code       int
	}{
		"no such pod": {
			http.StatusNotFound, `{"error":"not_found","reason":"no pod a/b is known on this node"}`,
			"no pod a/b is known on this node", ExitNotFound,
		},
		"another server": {http.StatusNotFound, "404 page not found",
			"check that a podlapse agent listens at this address",
			ExitFailed},
		"not JSON": {http.StatusOK, "<html>", "check that a podlapse agent listens at this address",
			ExitFailed},
		"a hostile reason": {http.StatusNotFound, `{"reason":"\u001b[2J"}`, `\x1b[2J`, ExitNotFound},
		"an empty response": {http.StatusOK, "{}",
			"the response contains no pod; check that a podlapse agent listens at this address", ExitFailed},
		"an endless response": {http.StatusOK, strings.Repeat(" ", 64<<20+1), "exceeds", ExitFailed},
		"an impossible time":  {http.StatusOK, `{"total_seconds":1e99}`, "decimal number", ExitFailed},
		"no permission": {http.StatusForbidden, `{"error":"forbidden","reason":"jane may not"}`, "jane may not",
			ExitForbidden},
		"too busy": {http.StatusServiceUnavailable, `{"error":"busy","reason":"try again"}`, "try again",
			ExitUnreachable},
		"too often": {http.StatusTooManyRequests, `{"error":"too_many_requests","reason":"slower"}`,
			"slower", ExitUnreachable},
	} {
		code, stdout, stderr, _ := explain(t, test.status, test.body, "a/b")
		if code != test.code || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %q", name, code, stdout, stderr, test.want)
		}
	}
}

// TestExplainTruncatedResponse has an agent that stops in the middle of its response.
func TestExplainTruncatedResponse(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, responseRecord[:100])
	}))
	defer agent.Close()
	runs(t, AgentProgram, environment{}, "explain", "--server", agent.URL, "a/b").
		must(t, ExitUnreachable, "", "unexpected EOF")
}

func TestExplainEscapesNames(t *testing.T) {
	if _, _, _, path := explain(t, http.StatusOK, responseRecord, "a/..%2f?x"); path != "/api/v1/pods/a/..%252f%3Fx" {
		t.Errorf("asked %s", path)
	}
}

func TestExplainWithoutAgent(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), []string{"explain", "--server", server.URL}, environment{}.get, &stdout, &stderr)
	if code != ExitUnreachable || !strings.Contains(stderr.String(), "--server: query the agent") {
		t.Errorf("exit %d, %s", code, stderr.String())
	}
}

func TestExplainShowsChallenge(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("a-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var shown, challenge string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shown = r.Header.Get("Authorization"); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w,
				map[string]string{"Bearer": `{"reason":"a bearer token is needed"}`,
					"Basic": "Unauthorized"}[challenge])
			return
		}
		fmt.Fprint(w, responseRecord)
	}))
	defer server.Close()
	withPassword := strings.Replace(server.URL, "http://", "http://me:secret@", 1)
	for _, test := range []struct{ challenge, server, token, shown, stderr string }{
		{"", server.URL, "", "", ""},
		{"", server.URL, token, "Bearer a-token", ""},
		{"", withPassword, "", "Basic bWU6c2VjcmV0", ""},
		{"Bearer", server.URL, "", "", "set --token-file"},
		{"Basic", server.URL, "", "", "http://USER:PASSWORD@127.0.0.1:"},
	} {
		challenge = test.challenge
		var stdout, stderr bytes.Buffer
		code := run(context.Background(),
			[]string{"explain", "--server", test.server, "--token-file", test.token, "a/b"}, environment{}.get,
			&stdout, &stderr)
		if shown != test.shown || (code == ExitOK) != (test.stderr == "") ||
			!strings.Contains(stderr.String(), test.stderr) {
			t.Errorf("%+v: exit %d, shown %q, %s", test, code, shown, stderr.String())
		}
	}
	var stdout, stderr bytes.Buffer
	args := []string{"explain", "--token-file=/dev/null"}
	if code := run(context.Background(), args, environment{}.get, &stdout, &stderr); code != ExitUsage {
		t.Errorf("an empty token file: exit %d, %s", code, stderr.String())
	}
}

// TestExplainShowsStateOfPull expects the word that the command pulls shows for the same pull.
func TestExplainShowsStateOfPull(t *testing.T) {
	cluster := shop()
	server := clusterOf(t, cluster)
	live := &cluster[2].pulls.Items[0]
	atNoon(t, server, "explain", "cart-1", "-n", "shop").must(t, ExitOK,
		"\nIN PROGRESS\n  app: 31.0 of 118.0 MiB (26 %) at 0.5 MiB/s, download ends in about 2m54s\n", "")
	atNoon(t, server, "pulls", "-n", "shop").must(t, ExitOK, " pulling at 0.5 MiB/s, download ends in about 2m54s ", "")
	for state, want := range map[string]string{
		api.PullStateQueued: "queued", api.PullStateUnpacking: "unpacking", "": "queued or pulling",
	} {
		live.State = state
		atNoon(t, server, "explain", "cart-1", "-n", "shop").must(t, ExitOK, "\napp       "+want+"  ", "")
		atNoon(t, server, "explain", "sts/cart", "-n", "shop").must(t, ExitOK, "\napp       "+want+"  ", "")
		atNoon(t, server, "pulls", "-n", "shop").must(t, ExitOK, "  "+want+"  ", "")
	}
	cluster[2].pulls.Items = nil // the agent's response is invalid
	atNoon(t, server, "explain", "cart-1", "-n", "shop").must(t, ExitOK, "\napp       pulling  ", "")
}
