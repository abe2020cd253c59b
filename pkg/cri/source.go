package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/utils/lru"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	defaultTimeout = 2 * time.Second
	maxStamps      = 1024 // cached sandboxes; a node runs at most several hundred
	maxStatuses    = 4096 // cached container statuses; the agent queries a status again if the cache dropped it
)

// connectRetries is the back-off between connection attempts, and between attempts of one request. While the runtime is
// absent, the back-off limits the load. Max limits the delay until the agent detects that the runtime is back.
var connectRetries = backoff.Policy{First: 200 * time.Millisecond, Max: 5 * time.Second}

// Config configures a Source. Sockets and Timeout have defaults.
type Config struct {
	Endpoint Endpoint
	// Observe receives RuntimeSeen from several workers, and RuntimeSilent from the goroutine in Run. While Observe
	// blocks, the goroutine that called Observe sends no queries. Observe must return when the context ends.
	Observe func(context.Context, timeline.Observation)
	// Report receives the status of the runtime. The argument "up" is true if the Source can query the runtime. The
	// argument "detail" is a text for people. Report must not block, and must be safe for concurrent use.
	Report func(up bool, detail string)
	Logger *zap.Logger
	Now    func() time.Time
	// Registerer registers the metrics podlapse_runtime_… about requests and stores. If Registerer is nil, New
	// registers no metrics.
	Registerer prometheus.Registerer

	Sockets []string      // for the endpoint `auto`: sockets to try, in this order; if nil, the default sockets
	Timeout time.Duration // timeout of one call; 2 s if zero
}

// Source queries the node's container runtime to respond to requests about pods.
type Source struct {
	config   Config
	pending  *requestQueue
	stamps   *lru.Cache              // see responder.stamps
	statuses *lru.Cache              // see responder.statuses
	contents *lru.Cache              // see catalog.known
	current  atomic.Pointer[session] // the current session; nil if there is none
	watch    chan bool               // capacity 1; holds the latest argument of Watch
	silence  silenceDetector         // used only by the goroutine in Run
	progress *sharedDownloads
	logged   string      // runtime in the latest log message about missing stores; used only by the goroutine in Run
	full     atomic.Bool // true if the source dropped the latest request because too many requests were open
	metrics  metrics
}

// New creates a source that is not connected yet. New panics if the metrics are already registered.
func New(config Config) *Source {
	if config.Sockets == nil {
		config.Sockets = Sockets()
	}
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	s := &Source{
		config:   config,
		pending:  newRequestQueue(),
		stamps:   lru.New(maxStamps),
		statuses: lru.New(maxStatuses),
		contents: lru.New(maxContents),
		watch:    make(chan bool, 1),
		progress: newSharedDownloads(config.Timeout, config.Now),
	}
	s.metrics = newMetrics(config.Registerer, s)
	return s
}

// Request asks the runtime for facts about one pod. When the runtime responds, the source passes the response to
// Config.Observe as a RuntimeSeen. Request does not block. Any goroutine can call Request, even before Run starts.
//
// The source merges all open requests about one pod into one request. The merged request contains the images of all
// these requests. If 1024 pods have open requests, the source drops requests about other pods. A metric counts the
// dropped requests. If the runtime keeps failing, the source gives up on a request 30 s after the latest call of
// Request about this pod. A caller that still needs the response must call Request again.
func (s *Source) Request(request timeline.RuntimeRequest) {
	if s.config.Endpoint.Off() {
		return
	}
	taken := s.pending.add(request, s.config.Now())
	if !taken {
		s.metrics.dropped.Inc()
	}
	if s.full.Swap(!taken) == taken && !taken {
		s.config.Logger.Warn("the agent dropped a request to the container runtime, because too many requests are open")
	}
}

// Watch starts or stops the detection of silences. A silence is a time during which the runtime does not respond. To
// detect silences, the source requests the runtime's version once a second. Watch does not block. Callers must not call
// Watch concurrently.
func (s *Source) Watch(on bool) {
	select {
	case <-s.watch: // drop the older value
	default:
	}
	s.watch <- on
}

// Run looks for the runtime and queries the runtime until ctx ends. Run always returns nil. Callers must call Run
// only once.
func (s *Source) Run(ctx context.Context) error {
	if s.config.Endpoint.Off() {
		s.config.Report(false, "disabled")
		<-ctx.Done()
		return nil
	}
	for failures := 0; ; failures++ {
		served, err := s.serveAny(ctx)
		if ctx.Err() != nil {
			return nil
		}
		s.config.Report(false, err.Error())
		if served {
			failures = 0
		}
		s.silence.watched = s.latestWatchArgument()
		if !backoff.Sleep(ctx, connectRetries.Delay(failures)) {
			return nil
		}
	}
}

// serveAny connects to the first socket with a runtime and serves until the connection is lost. The result "served" is
// true if serveAny found a runtime. The error is never nil.
func (s *Source) serveAny(ctx context.Context) (served bool, err error) {
	session, err := s.connectAny(ctx)
	if err != nil {
		return false, err
	}
	defer session.close()
	return true, session.serve(ctx)
}

// connectAny opens a session with the first runtime that responds on a socket. The caller must close the
// session.
func (s *Source) connectAny(ctx context.Context) (*session, error) {
	paths := s.config.Endpoint.Discover(s.config.Sockets)
	if len(paths) == 0 {
		return nil, fmt.Errorf("no container runtime socket found at %s: set --cri-endpoint",
			strings.Join(s.config.Sockets, ", "))
	}
	var errs []error
	for _, path := range paths {
		session, err := s.connect(ctx, path)
		if err == nil {
			return session, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", path, err))
	}
	return nil, errors.Join(errs...)
}

// connect calls Version to verify that a runtime serves CRI at path.
func (s *Source) connect(ctx context.Context, path string) (*session, error) {
	client, err := dial(path, s.config.Timeout)
	if err != nil {
		return nil, err
	}
	version, err := client.version(ctx)
	if err != nil {
		client.close()
		return nil, err
	}
	session := newSession(s, client, version)
	s.config.Report(true, session.detail())
	s.silence.recordEnd(ctx, s.config)
	s.logCoarse(session)
	return session, nil
}

// logCoarse logs which of containerd's stores the runtime does not provide, and what it therefore does not report. If
// the source connects to the same runtime again, logCoarse does not repeat the message.
func (s *Source) logCoarse(session *session) {
	missing, unreported := session.responder.stores.absentStores()
	if len(missing) == 0 || s.logged == session.runtime {
		return
	}
	s.logged = session.runtime
	s.config.Logger.Warn("the container runtime lacks some of containerd's stores: timelines are less precise",
		zap.String("runtime", session.runtime), zap.Strings("missing", missing),
		zap.Strings("unreported", unreported))
}

// Stores returns a map with the names of containerd's own stores. The value is true if the runtime provides the store.
// If there is no connection, Stores returns nil. Any goroutine can call Stores.
func (s *Source) Stores() map[string]bool {
	session := s.current.Load()
	if session == nil {
		return nil
	}
	served := map[string]bool{}
	for _, store := range session.responder.stores.kinds() {
		served[store.name] = store.isEnabled()
	}
	return served
}

// Connected reports whether the source has a connection to the runtime. Any goroutine can call Connected.
func (s *Source) Connected() bool { return s.current.Load() != nil }

// Ping requests the runtime's version on the current connection. If the runtime does not respond in time, the
// error wraps context.DeadlineExceeded. Any goroutine can call Ping.
func (s *Source) Ping(ctx context.Context) error {
	session := s.current.Load()
	if session == nil {
		return errors.New("the agent is not connected to the container runtime")
	}
	_, err := session.client.version(ctx)
	if status.Code(err) == codes.DeadlineExceeded {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}

// latestWatchArgument returns the argument of the latest call of Watch. Callers must not call latestWatchArgument
// during a session, because a session reads the same channel.
func (s *Source) latestWatchArgument() bool {
	select {
	case on := <-s.watch:
		return on
	default:
		return s.silence.watched
	}
}
