package bench

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

func TestAttemptsIn(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	attempts := attemptsIn([]KubeletEvent{
		{at(0), "a", "main", "Pulling", `Pulling image "r/x:1"`},
		{at(1), "b", "main", "Pulling", `Pulling image "r/x:1"`},
		{at(1), "b", "side", "Pulling", `Pulling image "r/xx:1"`},
		{at(2), "b", "main", "Failed", `Failed to pull image "r/x:1": rpc error`},
		{at(3), "a", "main", "Pulled",
			`Successfully pulled image "r/x:1" in 1s (1s including waiting). Image size: 1 bytes.`},
		{at(3), "c", "main", "Pulled", `Container image "r/x:1" already present on machine`},
		{at(4), "b", "main", "BackOff", `Back-off pulling image "r/x:1"`},
		{at(5), "b", "main", "Pulling", `Pulling image "r/x:1"`},
		{at(6), "b", "main", "Pulled",
			`Successfully pulled image "r/x:1" in 1s (1s including waiting). Image size: 1 bytes.`},
	}, "r/x:1")
	if len(attempts) != 3 {
		t.Fatalf("got %+v", attempts)
	}
	b := Of(attempts, "b", "main")
	if len(b) != 2 || !b[0].RequestedAt.Equal(at(1)) || !b[0].ReportedAt.Equal(at(2)) ||
		!b[1].RequestedAt.Equal(at(5)) || attempts[1].Pod != "a" {
		t.Errorf("got %+v", attempts)
	}
}

func TestAttemptReadsOnlyItsRequests(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	a := Attempt{Call: PullCall{Span: Span{at(10), at(20)}}}
	a.addRequests([]registry.Access{
		{StartAt: at(5), LastByteAt: at(6), Bytes: 1000},
		{StartAt: at(12), LastByteAt: at(18), Bytes: 100, Kind: registry.KindBlob, Client: "containerd/v2.4.2"},
		{StartAt: at(13), LastByteAt: at(13), Bytes: 7, Kind: registry.KindBlob, Client: "Go-http-client/1.1"},
		{StartAt: at(11), LastByteAt: at(11), Bytes: 10, Kind: registry.KindManifest, Status: 401, Anonymous: true},
		{StartAt: at(21), LastByteAt: at(22), Bytes: 1000, Status: 500},
	})
	if a.RegistryTime != (Span{at(11), at(18)}) || a.Bytes != 117 || a.BlobBytes != 100 || a.Blobs != 1 || a.Hit ||
		a.Unpacked() != 2*time.Second || !a.Direct {
		t.Errorf("got %+v", a)
	}
	// A refused login is a fault, unlike a request without a login.
	if a.addRequests([]registry.Access{{StartAt: at(12), LastByteAt: at(12), Status: 401}}); !a.Hit {
		t.Error("a refused login is no fault")
	}
}

func TestAttemptReadsContentStore(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	stored := map[string]time.Time{"a": at(17), "b": at(18), "config": at(14), "manifest": at(19), "earlier": at(6),
		"old": at(4)}
	for name, test := range map[string]struct {
		blobs []string
		want  time.Time // zero if the time is unknown
	}{
		"several":                   {[]string{"config", "b", "a"}, at(18)},
		"not kept":                  {[]string{"config", "b", "discarded"}, time.Time{}},
		"stored before the call":    {[]string{"b", "old"}, time.Time{}},
		"no blob from the registry": {nil, time.Time{}},
	} {
		a := Attempt{Call: PullCall{Span: Span{at(10), at(20)}}}
		accesses := []registry.Access{
			{StartAt: at(5), LastByteAt: at(6), Kind: registry.KindBlob, Reference: "earlier", Bytes: 1},
			{StartAt: at(11), LastByteAt: at(11), Kind: registry.KindManifest, Reference: "manifest", Bytes: 1}}
		for _, blob := range test.blobs {
			accesses = append(accesses, registry.Access{StartAt: at(12), LastByteAt: at(13), Bytes: 1,
				Kind: registry.KindBlob, Reference: blob})
		}
		err := a.readStore(accesses, func(digest string) (time.Time, error) { return stored[digest], nil })
		if err != nil || !a.StoredAt.Equal(test.want) {
			t.Errorf("%s: %s, %v, want %s", name, a.StoredAt, err, test.want)
		}
	}
}

func TestAttemptFromMirror(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	mirror, server := layout.Address(layout.NodeMirrorPort), layout.Address(layout.RegistryPort)
	for name, test := range map[string]struct {
		hosts  []string // addresses for two blobs
		direct bool
	}{
		"from the mirror":    {[]string{mirror, mirror}, false},
		"one from elsewhere": {[]string{mirror, server}, true},
		"no mirror":          {[]string{server, server}, true},
	} {
		a := Attempt{Call: PullCall{Span: Span{at(10), at(20)}}}
		accesses := []registry.Access{{StartAt: at(11), LastByteAt: at(11), Kind: registry.KindManifest, Host: server}}
		for _, host := range test.hosts {
			accesses = append(accesses,
				registry.Access{StartAt: at(12), LastByteAt: at(13), Bytes: 5, Kind: registry.KindBlob, Host: host})
		}
		if a.addRequests(accesses); a.Direct != test.direct {
			t.Errorf("%s: direct is %t", name, a.Direct)
		}
	}
}

func TestMatch(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	// The calls do not overlap: the first call ends when the second call starts. Their order differs from the order of
	// the requests.
	serial := []Attempt{{Pod: "b", RequestedAt: at(1)}, {Pod: "a", RequestedAt: at(0)}}
	assignCalls(serial, []PullCall{{Span: Span{at(2), at(5)}}, {Span: Span{at(5), at(6)}}})
	if serial[0].Call.StartAt != at(2) || serial[0].Call.EndAt != at(5) || serial[1].Call.StartAt != at(5) {
		t.Errorf("serial: %+v", serial)
	}
	parallel := []Attempt{{Pod: "b", RequestedAt: at(1)}, {Pod: "a", RequestedAt: at(0)}}
	assignCalls(parallel, []PullCall{{Span: Span{at(0), at(5)}}, {Span: Span{at(2), at(6)}, Failed: "x"}})
	if parallel[0].Call.StartAt != at(2) || parallel[0].Call.EndAt != at(5) || parallel[1].Call.StartAt != at(0) ||
		!parallel[1].Failed() {
		t.Errorf("parallel: %+v", parallel)
	}
}
