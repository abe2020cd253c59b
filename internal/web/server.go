package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/page"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 30 * time.Second // a handler that streams moves its own deadline on
	idleTimeout     = 2 * time.Minute  // longer than a usual scrape interval, so scrapers keep their connection
	maxHeaderBytes  = 16 << 10
	streamsAtOnce   = 32 // of one HTTP/2 connection: as many as one client may have connections
	shutdownTimeout = 1500 * time.Millisecond
)

// Config is what a Server needs; every field but WebConfigFile, Access, Registerer and Observations is required.
type Config struct {
	ListenAddress string // host:port; an empty host is every address, port 0 any free one
	// WebConfigFile names a file in the format of prometheus/exporter-toolkit, with TLS and basic authentication;
	// it and the files that it names are read anew for each connection and request. Empty for plain HTTP.
	WebConfigFile string
	// Access guards all but the probes and the list of addresses; nil when everybody may read.
	Access Access
	// LocalOnly has all that names pods told over loopback only, where there is no Access. Metrics
	// and probes stay open.
	LocalOnly bool
	// Hosts are names beside localhost and addresses under which requests over loopback may come,
	// as from a proxy in the same pod.
	Hosts []string
	// Timelines returns the pods that are there as of now. It may block until ctx is done; it is called from
	// many goroutines at once.
	Timelines func(ctx context.Context) ([]timeline.Timeline, error)
	// Pulls returns what is pulled at this moment; like Timelines.
	Pulls    func(ctx context.Context) (export.LivePulls, error)
	Statuses func() []health.Status // safe for concurrent use
	Required []string               // parts that must be up for /readyz; the others only degrade
	Gatherer prometheus.Gatherer
	// Registerer gets the server's own metrics; nil for none.
	Registerer prometheus.Registerer
	// Observations writes the latest observations; safe for concurrent use. Nil when the agent keeps none.
	Observations io.WriterTo
	Profiles     bool      // of the agent itself are made
	API          API       // what the API tells beside timelines and pulls
	Page         page.Page // what browsers are shown
	Logger       *zap.Logger
}

// Server answers HTTP on one listener.
type Server struct {
	config   Config
	listener net.Listener
}

// Listen binds the address, so that a busy port is known before anything else runs. The server
// must be Run or Closed after.
func Listen(ctx context.Context, config Config) (*Server, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", config.ListenAddress)
	if err != nil {
		return nil, fmt.Errorf("listen on --listen-address %s: %w", config.ListenAddress, err)
	}
	return &Server{config: config, listener: listener}, nil
}

// Addr is the address the server really listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close gives the address back when the server was never Run.
func (s *Server) Close() error { return s.listener.Close() }

// Run serves until ctx is done, then lets requests under way end, but not for longer than
// shutdownTimeout. It returns nil after a stop that ctx asked for.
func (s *Server) Run(ctx context.Context) error {
	errorLog, err := zap.NewStdLogAt(s.config.Logger, zap.DebugLevel) // bad clients are not the operator's problem
	if err != nil {
		return fmt.Errorf("make error log: %w", err)
	}
	dropped := newCounters(s.config.Registerer)
	limits, probes := newLimits(dropped), newProbes(s.config)
	server := newServer(ctx, newReads(s.config, limits, errorLog), errorLog)

	served := make(chan error, 1) // one send, never blocks
	go func() {
		served <- serve(limited(s.listener, limits.answers.reads, dropped), server, s.config,
			func(reads http.Handler) http.Handler {
				return front(limits, s.config.Hosts, probes, reads)
			})
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}

	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		if closeErr := server.Close(); closeErr != nil {
			s.config.Logger.Debug("cannot close http server", zap.Error(closeErr))
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// newServer bounds what a client can cost, in time and in bytes.
func newServer(ctx context.Context, handler http.Handler, errorLog *log.Logger) *http.Server {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: streamsAtOnce},
		ErrorLog:          errorLog,
		// Requests that wait for a timeline end as soon as the agent stops.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	followActivity(server)
	return server
}
