package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

// made returns a probe with a short timeout.
func made(kind Kind, target string, change func(*Probe)) Probe {
	p := Probe{Name: "test", Kind: kind, Target: target}
	p.Timeout.Duration = 500 * time.Millisecond
	if change != nil {
		change(&p)
	}
	return p
}

// try makes one attempt in the same way as a Runner.
func try(t *testing.T, p Probe) Outcome {
	t.Helper()
	r := NewRunner(RunnerConfig{Logger: zap.NewNop()})
	return attempt(t.Context(), p, r.attemptFuncOf(p))
}

// stagesOf returns the stages of an outcome and their results as text.
func stagesOf(o Outcome) string {
	var texts []string
	for _, s := range o.Stages {
		texts = append(texts, fmt.Sprintf("%s=%s", s.Stage, s.Result))
	}
	return strings.Join(texts, " ")
}

func expect(t *testing.T, what string, o Outcome, result Result, stages string) {
	t.Helper()
	if o.Result != result || stagesOf(o) != stages || (o.Detail == "") != (result == ResultOK) {
		t.Errorf("%s: %s (%q), %s; want %s, %s", what, o.Result, o.Detail, stagesOf(o), result, stages)
	}
}

// silentServer starts a server that accepts connections and sends nothing until the test ends.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var conns []net.Conn
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, conn)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	return l.Addr().String()
}

// unusedAddress returns an address without a listener.
func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestRegistry(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			t.Errorf("requested %s", r.URL)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	p := made(KindRegistry, strings.TrimPrefix(server.URL, "http://"), func(p *Probe) { p.PlainHTTP = true })
	for s, want := range map[int]Result{200: ResultOK, 401: ResultOK, 403: ResultBadStatus, 404: ResultBadStatus,
		503: ResultBadStatus, 302: ResultBadStatus} {
		status = s
		expect(t, fmt.Sprint(s), try(t, p), want, "connect=ok first_byte=ok")
	}
}

func TestTCP(t *testing.T) {
	expect(t, "well", try(t, made(KindTCP, silentServer(t), nil)), ResultOK, "connect=ok")
	expect(t, "dead", try(t, made(KindTCP, unusedAddress(t), nil)), ResultConnectError, "connect=connect_error")
	_, port, _ := net.SplitHostPort(silentServer(t))
	expect(t, "by name", try(t, made(KindTCP, "localhost:"+port, nil)), ResultOK, "dns=ok connect=ok")
}

func TestRoundTrips(t *testing.T) {
	failure := error(nil)
	trip := func(ctx context.Context) error {
		if failure == errForever {
			<-ctx.Done()
			return errors.New("what a client makes of it")
		}
		return failure
	}
	r := NewRunner(RunnerConfig{Runtime: trip, APIServer: trip, Logger: zap.NewNop()})
	for _, kind := range []Kind{KindCRI, KindAPIServer} {
		p := made(kind, "", nil)
		for _, c := range []struct {
			err  error
			want Result
		}{{nil, ResultOK}, {errors.New("no"), ResultError}, {errForever, ResultTimeout}} {
			failure = c.err
			expect(t, string(kind), attempt(t.Context(), p, r.attemptFuncOf(p)), c.want, "")
		}
	}
}

func TestEveryResultIsListed(t *testing.T) {
	for _, row := range stageOrder {
		if !slices.Contains(Results(), row.failed) {
			t.Errorf("%s is not listed", row.failed)
		}
	}
}
