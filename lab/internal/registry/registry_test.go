package registry

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

type bench struct {
	t      *testing.T
	url    string
	client Client
}

func newBench(t *testing.T, limit int64) bench {
	t.Helper()
	server, err := New(t.TempDir()+"/blobs", limit)
	if err != nil {
		t.Fatal(err)
	}
	images, control := httptest.NewServer(http.HandlerFunc(server.Images)), httptest.NewServer(server.Control())
	t.Cleanup(images.Close)
	t.Cleanup(control.Close)
	return bench{t, images.URL, Client{Address: strings.TrimPrefix(control.URL, "http://")}}
}

// push stores a blob of size random bytes, and returns the blob's path and content.
func (b bench) push(repository string, size int) (string, []byte) {
	b.t.Helper()
	content := make([]byte, size)
	_, _ = rand.Read(content)
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	response, err := http.Post(b.url+"/v2/"+repository+"/blobs/uploads/?digest="+digest, "application/octet-stream",
		bytes.NewReader(content))
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(response.Body)
		b.t.Fatalf("push: %s %s", response.Status, text)
	}
	return "/v2/" + repository + "/blobs/" + digest, content
}

func (b bench) get(path, byteRange string) (status int, body []byte, took time.Duration, err error) {
	b.t.Helper()
	request, _ := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+path, nil)
	if byteRange != "" {
		request.Header.Set("Range", byteRange)
	}
	startedAt := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, 0, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, time.Since(startedAt), err
}

func (b bench) rules(rules ...Rule) {
	b.t.Helper()
	if err := b.client.SetRules(b.t.Context(), rules...); err != nil {
		b.t.Fatal(err)
	}
}

// logged waits until the log has n entries for a repository. The registry adds an entry a moment after the client has
// the last byte.
func (b bench) logged(pattern string, n int) []Access {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		log, err := b.client.Log(b.t.Context(), pattern)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(log) >= n {
			return log
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("log has %d entries, want %d", len(log), n)
		}
	}
}

// A response can arrive late because the machine is busy, so this test limits only how early a response arrives.
// TestThrottleIsAccurate tests both limits with a virtual clock.
func TestThrottleOverTheNetwork(t *testing.T) {
	const size, rate = 2 << 20, 4 << 20
	const want = 500 * time.Millisecond
	b := newBench(t, 1<<30)
	path, content := b.push("slow/image", size)
	b.rules(Rule{Repository: "slow/*", BytesPerSecond: rate})
	_, body, took, err := b.get(path, "")
	if err != nil || !bytes.Equal(body, content) {
		t.Fatalf("got %d bytes, %v", len(body), err)
	}
	if took < want-want/100 {
		t.Errorf("took %s, want at least %s", took, want)
	}
	last := b.logged("slow/*", 1)[0]
	if logged := last.LastByteAt.Sub(last.StartAt); logged < want-want/100 || last.LastByteAt.After(time.Now()) {
		t.Errorf("according to the log, the response took %s and ended at %s", logged, last.LastByteAt)
	}
	if last.Bytes != size || last.Status != http.StatusOK || last.Kind != KindBlob {
		t.Errorf("log entry %+v", last)
	}
}

func TestStatuses(t *testing.T) {
	b := newBench(t, 1<<20)
	path, _ := b.push("red/image", 10)
	for _, status := range []int{401, 403, 404, 429, 500} {
		b.rules(Rule{Repository: "red/*", Status: status})
		got, body, _, err := b.get(path, "")
		if err != nil || got != status || !bytes.Contains(body, []byte(`"errors"`)) {
			t.Errorf("status %d: got %d %s %v", status, got, body, err)
		}
	}
}

func TestRulesApplyToMatchingRequests(t *testing.T) {
	b := newBench(t, 1<<20)
	red, _ := b.push("red/image", 10)
	blue, _ := b.push("blue/image", 10)
	b.rules(Rule{Repository: "red/*", Kind: KindBlob, Status: 500, Times: 1})
	for _, step := range []struct {
		path string
		want int
	}{{blue, 200}, {"/v2/red/image/manifests/none", 404}, {red, 500}, {red, 200}} {
		if got, _, _, err := b.get(step.path, ""); err != nil || got != step.want {
			t.Errorf("%s: got %d, %v, want %d", step.path, got, err, step.want)
		}
	}
	b.rules()
	if got, _, _, _ := b.get(red, ""); got != 200 {
		t.Errorf("without rules: got %d", got)
	}
}

func TestStall(t *testing.T) {
	b := newBench(t, 1<<20)
	path, content := b.push("red/image", 1000)
	for _, after := range []int64{0, 500} {
		b.rules(Rule{Repository: "red/*", Stall: Duration{150 * time.Millisecond}, StallAfterBytes: after})
		_, body, took, err := b.get(path, "")
		if err != nil || !bytes.Equal(body, content) || took < 150*time.Millisecond {
			t.Errorf("after %d: %d bytes in %s, %v", after, len(body), took, err)
		}
	}
}

func TestResetAndResume(t *testing.T) {
	b := newBench(t, 1<<20)
	path, content := b.push("red/image", 100_000)
	b.rules(Rule{Repository: "red/*", ResetAfterBytes: 40_000, Times: 1})
	_, body, _, err := b.get(path, "")
	if err == nil || len(body) > 40_000 {
		t.Fatalf("got %d bytes, %v, want a broken connection", len(body), err)
	}
	// containerd sends this request after a broken response.
	status, rest, _, err := b.get(path, "bytes=40000-")
	if err != nil || status != http.StatusPartialContent || !bytes.Equal(rest, content[40_000:]) {
		t.Errorf("resume: %d, %d bytes, %v", status, len(rest), err)
	}
	log := b.logged("red/*", 2)
	// The client can return before the registry has logged the broken response.
	slices.SortFunc(log, func(a, b Access) int { return a.StartAt.Compare(b.StartAt) })
	if n := len(log); n != 2 || log[n-2].Failure == "" || log[n-2].Bytes != 40_000 || log[n-1].Failure != "" {
		t.Errorf("log %+v", log)
	}
}

// TestRanges requests the ranges that containerd and lazy snapshotters request.
func TestRanges(t *testing.T) {
	b := newBench(t, 1<<20)
	path, content := b.push("red/image", 1000)
	for byteRange, want := range map[string]struct {
		status int
		body   []byte
	}{
		"bytes=0-1":     {http.StatusPartialContent, content[:2]},
		"bytes=10-19":   {http.StatusPartialContent, content[10:20]},
		"bytes=990-":    {http.StatusPartialContent, content[990:]},
		"bytes=-5":      {http.StatusPartialContent, content[995:]},
		"bytes=0-9999":  {http.StatusPartialContent, content},
		"bytes=1000-":   {http.StatusRequestedRangeNotSatisfiable, nil},
		"bytes=nothing": {http.StatusRequestedRangeNotSatisfiable, nil},
	} {
		status, body, _, err := b.get(path, byteRange)
		if err != nil || status != want.status || want.body != nil && !bytes.Equal(body, want.body) {
			t.Errorf("%s: got %d, %d bytes, %v, want %d", byteRange, status, len(body), err, want.status)
		}
	}
	status, body, _, err := b.get(path, "bytes=0-9,500-509")
	if err != nil || status != http.StatusPartialContent || !bytes.Contains(body, content[:10]) ||
		!bytes.Contains(body, content[500:510]) || bytes.Contains(body, content[10:20]) {
		t.Errorf("two ranges: got %d, %d bytes, %v", status, len(body), err)
	}
	missing := strings.Repeat("0", 64)
	if status, _, _, err := b.get("/v2/red/image/blobs/sha256:"+missing, "bytes=0-1"); err != nil || status != 404 {
		t.Errorf("missing blob: got %d, %v", status, err)
	}
}

func TestInvalidRulesAreRejected(t *testing.T) {
	b := newBench(t, 1<<20)
	path, _ := b.push("red/image", 10)
	b.rules(Rule{Repository: "red/*", Status: 500})
	for _, wrong := range []Rule{{}, {Repository: "["}, {Repository: "*", Status: 418}, {Repository: "*", Kind: "tag"},
		{Repository: "*", BytesPerSecond: -1}, {Repository: "*", StallAfterBytes: 3}} {
		if err := b.client.SetRules(t.Context(), Rule{Repository: "*"}, wrong); err == nil ||
			!strings.Contains(err.Error(), "rule 1") {
			t.Errorf("%+v: error %v", wrong, err)
		}
	}
	if got, _, _, _ := b.get(path, ""); got != 500 {
		t.Errorf("the active rules changed: got %d", got)
	}
}

func TestForgetAndStorageLimit(t *testing.T) {
	b := newBench(t, 1000)
	kept, _ := b.push("blue/image", 300)
	gone, _ := b.push("red/image", 600)
	if err := b.client.Forget(t.Context(), "red/*"); err != nil {
		t.Fatal(err)
	}
	b.push("red/image", 600) // the registry has space again
	if got, _, _, _ := b.get(kept, ""); got != 200 {
		t.Errorf("another repository's blob: %d", got)
	}
	if got, _, _, _ := b.get(gone, ""); got != 404 {
		t.Errorf("forgotten blob: %d", got)
	}
	store, err := newBlobs(t.TempDir(), 10)
	if err != nil {
		t.Fatal(err)
	}
	content := io.NopCloser(strings.NewReader("eleven byte"))
	if err := store.Put(t.Context(), "red", hashOf(t), content); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a full registry accepts another blob: %v", err)
	}
}
