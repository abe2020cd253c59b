package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	defaultTimeout = 2 * time.Second
	maxStamps      = 1024 // sandboxes remembered; a node runs a few hundred
	maxStatuses    = 4096 // containers that run remembered, and as many that exited
)

// retries bounds how often a runtime that is away is asked, and how long one that came back is missed.
var retries = backoff.Policy{First: 200 * time.Millisecond, Max: 5 * time.Second}

// Config is what a Source needs; Sockets and Timeout have defaults.
type Config struct {
	Endpoint Endpoint
	// Observe takes RuntimeSeen, from one of a few workers, and RuntimeSilent. While it blocks,
	// that worker asks nothing; it must return when the context ends.
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Logger  *zap.Logger
	Now     func() time.Time

	Sockets []string      // where Auto looks, in order; Sockets() when nil
	Timeout time.Duration // of one call; 2 s when zero
}

// Source answers questions about pods with what the node's container runtime knows.
type Source struct {
	config   Config
	pending  *pending
	stamps   *cache[sandboxStamps]
	running  *cache[*runtimeapi.ContainerStatus]
	finished *cache[*runtimeapi.ContainerStatus]
	contents *cache[contents]
	current  atomic.Pointer[session] // that serves now; nil while none does
	watch    chan bool               // capacity 1: the latest word of Watch
	silence  silence                 // of the goroutine in Run
	progress *sharedDownloads
	coarse   string      // the runtime of which was last said what it does not tell; of the goroutine in Run
	full     atomic.Bool // the latest question was dropped
	answered atomic.Uint64
	givenUp  atomic.Uint64
}

// Stats counts what a Source does.
type Stats struct {
	Open     int    // pods with an open question
	Answered uint64 // questions answered so far
	Dropped  uint64 // questions not taken so far because too many were open
	GivenUp  uint64 // questions given up so far because the runtime kept failing
}

// New makes a source that is not connected yet.
func New(config Config) *Source {
	if config.Sockets == nil {
		config.Sockets = Sockets()
	}
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	return &Source{
		config:   config,
		pending:  newPending(),
		stamps:   newCache[sandboxStamps](maxStamps),
		running:  newCache[*runtimeapi.ContainerStatus](maxStatuses),
		finished: newCache[*runtimeapi.ContainerStatus](maxStatuses),
		contents: newCache[contents](maxContents),
		watch:    make(chan bool, 1),
		progress: newSharedDownloads(config.Timeout, config.Now),
	}
}

// Ask wants one RuntimeSeen about a pod. It does not block and may be called before Run and from any
// goroutine. Questions about one pod that are not yet answered become one, about the images of all;
// beyond 1024 pods, questions are dropped and counted. A question is given up 30 s after it was
// last asked if the runtime keeps failing, so who still wants the answer asks again.
func (s *Source) Ask(lookUp timeline.LookUp) {
	if s.config.Endpoint.Off() {
		return
	}
	taken := s.pending.ask(lookUp, s.config.Now())
	if s.full.Swap(!taken) == taken && !taken {
		s.config.Logger.Warn("dropped a query to the container runtime: too many are open")
	}
}

// Watch says whether the runtime's silences are of use from now on: while pods start it is asked
// for its version once a second. It does not block; one goroutine at a time may call it.
func (s *Source) Watch(wanted bool) {
	select {
	case <-s.watch: // overtaken
	default:
	}
	s.watch <- wanted
}

// Stats may be called from any goroutine.
func (s *Source) Stats() Stats {
	open, dropped := s.pending.count()
	return Stats{Open: open, Answered: s.answered.Load(), Dropped: dropped, GivenUp: s.givenUp.Load()}
}

// Run looks for the runtime and asks it until ctx ends; it never fails and returns nil. It may be
// called once.
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

// serveAny serves with the first socket behind which a runtime proves itself, until that is lost. It
// says whether it served, and what was wrong at last.
func (s *Source) serveAny(ctx context.Context) (served bool, err error) {
	session, err := s.connectAny(ctx)
	if err != nil {
		return false, err
	}
	defer session.close()
	return true, session.serve(ctx)
}

// connectAny is a session with the runtime behind the first socket that has one. The caller must close it.
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

// connect proves with Version that a runtime serves CRI at path.
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
	s.sayCoarse(session)
	return session, nil
}

// sayCoarse says once of a runtime what it does not tell by its version, however often the connection breaks.
func (s *Source) sayCoarse(session *session) {
	missing, costs := session.lookUp.stores.missing()
	if len(missing) == 0 || s.coarse == session.runtime {
		return
	}
	s.coarse = session.runtime
	s.config.Logger.Warn("container runtime does not serve all of containerd's stores; timelines are less precise",
		zap.String("runtime", session.runtime), zap.Strings("missing", missing), zap.Strings("costs", costs))
}

// Stores says which of containerd's own stores the runtime has, by name; nil while there is no
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

// Ping asks the runtime for its version on the connection that there is. An answer that does not come in time wraps
// context.DeadlineExceeded. It may be called from any goroutine.
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

// latestWatch is the latest word of Watch, while no session takes it.
func (s *Source) latestWatch() bool {
	select {
	case wanted := <-s.watch:
		return wanted
	default:
		return s.silence.watched
	}
}
