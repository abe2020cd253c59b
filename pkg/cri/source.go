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
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	defaultTimeout = 2 * time.Second
	maxStamps      = 1024 // cached sandboxes; a node runs a few hundred
	maxStatuses    = 8192 // cached running and exited containers
)

// retries limits how often the agent tries an absent runtime, and how soon it notices that the runtime is back.
var retries = backoff.Policy{First: 200 * time.Millisecond, Max: 5 * time.Second}

// Config configures a Source. Sockets and Timeout have defaults.
type Config struct {
	Endpoint Endpoint
	// Observe takes RuntimeSeen, from one of a few workers, and RuntimeSilent. While it blocks,
	// that worker sends no queries. It must return when the context ends.
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Logger  *zap.Logger
	Now     func() time.Time
	// Registerer gets the metrics of queries and stores, podlapse_runtime_…; nil for none.
	Registerer prometheus.Registerer

	Sockets []string      // where Auto looks, in order; Sockets() if nil
	Timeout time.Duration // of one call; 2 s if zero
}

// Source answers questions about pods from the node's container runtime.
type Source struct {
	config   Config
	pending  *pending
	stamps   *lru.Cache              // see lookUp
	statuses *lru.Cache              // see lookUp
	contents *lru.Cache              // see catalog
	current  atomic.Pointer[session] // the current session; nil if there is none
	watch    chan bool               // capacity 1: the latest value of Watch
	silence  silence                 // used by the goroutine in Run
	progress *sharedDownloads
	logged   string      // the runtime whose missing features were logged last; used by the goroutine in Run
	full     atomic.Bool // the latest question was dropped
	metrics  metrics
}

// New creates a source that is not connected yet. It panics if its metrics are already registered.
func New(config Config) *Source {
	if config.Sockets == nil {
		config.Sockets = Sockets()
	}
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	s := &Source{
		config:   config,
		pending:  newPending(),
		stamps:   lru.New(maxStamps),
		statuses: lru.New(maxStatuses),
		contents: lru.New(maxContents),
		watch:    make(chan bool, 1),
		progress: newSharedDownloads(config.Timeout, config.Now),
	}
	s.metrics = newMetrics(config.Registerer, s)
	return s
}

// Ask requests one RuntimeSeen about a pod. It does not block and may be called before Run and from
// any goroutine. Unanswered questions about one pod are merged into one question about all their images. Beyond 1024
// pods, questions are dropped and counted. If the runtime keeps failing, a question is given up 30 s after it was last
// asked, so a caller that still wants the answer asks again.
func (s *Source) Ask(lookUp timeline.LookUp) {
	if s.config.Endpoint.Off() {
		return
	}
	taken := s.pending.ask(lookUp, s.config.Now())
	if !taken {
		s.metrics.dropped.Inc()
	}
	if s.full.Swap(!taken) == taken && !taken {
		s.config.Logger.Warn("dropped a query to the container runtime: too many are open")
	}
}

// Watch says whether to observe the runtime's silences from now on: while pods start, the agent
// requests the runtime's version once a second. It does not block. One goroutine at a time may call
// it.
func (s *Source) Watch(wanted bool) {
	select {
	case <-s.watch: // the older value is dropped
	default:
	}
	s.watch <- wanted
}

// Run looks for the runtime and queries it until ctx ends. It never fails and returns nil. It may
// be called once.
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
		s.silence.watched = s.latestWatch()
		if !backoff.Sleep(ctx, retries.Delay(failures)) {
			return nil
		}
	}
}

// serveAny connects to the first socket that a runtime serves, until the connection is lost. It
// returns whether it served, and the last error.
func (s *Source) serveAny(ctx context.Context) (served bool, err error) {
	session, err := s.connectAny(ctx)
	if err != nil {
		return false, err
	}
	defer session.close()
	return true, session.serve(ctx)
}

// connectAny opens a session with the runtime behind the first socket that has one. The caller must
// close it.
func (s *Source) connectAny(ctx context.Context) (*session, error) {
	paths := s.config.Endpoint.Discover(s.config.Sockets)
	if len(paths) == 0 {
		return nil, fmt.Errorf("no container runtime socket found at %s; set --cri-endpoint",
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

// connect verifies with Version that a runtime serves CRI at path.
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
	s.config.Report(true, describe(version))
	s.silence.ended(ctx, s.config)
	session := newSession(s, client, version)
	s.logCoarse(session)
	return session, nil
}

// logCoarse logs which facts the runtime cannot report because of its version: once per runtime, however often the
// connection breaks.
func (s *Source) logCoarse(session *session) {
	missing, costs := session.lookUp.stores.missing()
	if len(missing) == 0 || s.logged == session.runtime {
		return
	}
	s.logged = session.runtime
	s.config.Logger.Warn("container runtime does not serve all of containerd's stores; timelines are less precise",
		zap.String("runtime", session.runtime), zap.Strings("missing", missing), zap.Strings("costs", costs))
}

// Stores returns which of containerd's own stores the runtime has, by name; nil if there is no
// connection. It may be called from any goroutine.
func (s *Source) Stores() map[string]bool {
	session := s.current.Load()
	if session == nil {
		return nil
	}
	served := map[string]bool{}
	for _, store := range session.lookUp.stores.all() {
		served[store.name] = store.on()
	}
	return served
}

// Ping requests the runtime's version on the current connection. If there is no response in time,
// the error wraps context.DeadlineExceeded. It may be called from any goroutine.
func (s *Source) Ping(ctx context.Context) error {
	session := s.current.Load()
	if session == nil {
		return errors.New("not connected to the container runtime")
	}
	_, err := session.client.version(ctx)
	if status.Code(err) == codes.DeadlineExceeded {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}

// latestWatch keeps the latest value of Watch while no session receives it.
func (s *Source) latestWatch() bool {
	select {
	case wanted := <-s.watch:
		return wanted
	default:
		return s.silence.watched
	}
}
