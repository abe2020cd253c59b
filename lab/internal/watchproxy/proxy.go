package watchproxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Fault describes what the proxy does with one event of the pod watch.
type Fault struct {
	Lost  bool
	Delay time.Duration // delay of this event; the proxy keeps the order of events, so later events also wait
}

// Proxy forwards requests to one API server. The transport of the proxy authenticates the requests.
type Proxy struct {
	server   *http.Server
	listener net.Listener

	held  atomic.Int64
	mu    sync.Mutex
	fault func(kind watch.EventType, pod corev1.Pod) Fault
	ended chan error
}

// Start starts a proxy on a loopback port. The proxy listens until the caller calls Close.
func Start(ctx context.Context, target string, as http.RoundTripper) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, ended: make(chan error, 1)}
	p.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Authorization")
			if watchesPods(r.In) {
				r.Out.Header.Set("Accept", "application/json")
				r.Out.Header.Set("Accept-Encoding", "identity")
			}
		},
		Transport: as, FlushInterval: -1, ModifyResponse: p.applyFaults,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}}
	go func() { p.ended <- p.server.Serve(listener) }()
	return p, nil
}

// URL returns the URL on which the proxy listens.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Break sets the function that selects a fault for each event. From then on, the proxy calls the function for each
// event of the pod watch, except bookmarks and errors. If the function is nil, the proxy injects no faults.
func (p *Proxy) Break(fault func(kind watch.EventType, pod corev1.Pod) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// Held returns the number of events that the proxy has received but not yet forwarded.
func (p *Proxy) Held() int { return int(p.held.Load()) }

// Close closes all connections.
func (p *Proxy) Close() error {
	err := p.server.Close()
	if served := <-p.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func watchesPods(r *http.Request) bool {
	return r.URL.Path == "/api/v1/pods" && (r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1")
}

// applyFaults applies the faults to the API server's response if the response belongs to a pod watch.
func (p *Proxy) applyFaults(response *http.Response) error {
	if !watchesPods(response.Request) || response.StatusCode != http.StatusOK {
		return nil
	}
	reader, writer := io.Pipe()
	events := make(chan dueEvent, 4096) // room for a minute of events; while the channel is full, the API server waits
	upstream := response.Body
	go func() {
		defer close(events)
		for decoder := json.NewDecoder(upstream); ; {
			var event json.RawMessage
			if decoder.Decode(&event) != nil {
				return
			}
			if next, lost := p.judge(event); !lost {
				p.held.Add(1)
				events <- next
			}
		}
	}()
	go func() {
		for event := range events {
			time.Sleep(time.Until(event.at))
			_, err := writer.Write(append(event.text, '\n'))
			p.held.Add(-1)
			if err != nil {
				break // a failed write means that the agent has disconnected
			}
		}
		_ = writer.Close()
		for range events { // read the remaining events, so that the goroutine above can end
			p.held.Add(-1)
		}
	}()
	response.Body = body{reader, upstream}
	return nil
}

// dueEvent is an event and the time at which the proxy forwards the event.
type dueEvent struct {
	text []byte
	at   time.Time
}

func (p *Proxy) judge(text json.RawMessage) (next dueEvent, lost bool) {
	var event struct {
		Type   watch.EventType
		Object corev1.Pod
	}
	p.mu.Lock()
	fault := p.fault
	p.mu.Unlock()
	next = dueEvent{text, time.Now()}
	if fault == nil || json.Unmarshal(text, &event) != nil || event.Type == watch.Bookmark ||
		event.Type == watch.Error {
		return next, false
	}
	f := fault(event.Type, event.Object)
	next.at = next.at.Add(f.Delay)
	return next, f.Lost
}

// body is the response body for the agent. Close also closes the response of the API server.
type body struct {
	io.ReadCloser
	upstream io.Closer
}

// Close implements io.Closer.
func (b body) Close() error { return errors.Join(b.ReadCloser.Close(), b.upstream.Close()) }
