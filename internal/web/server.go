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
	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/page"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 30 * time.Second // a streaming handler extends its own deadline
	idleTimeout     = 2 * time.Minute  // longer than a usual scrape interval, so scrapers keep their connection
	maxHeaderBytes  = 16 << 10
	streamsAtOnce   = 32 // per HTTP/2 connection: as many as one client may have connections
	shutdownTimeout = 1500 * time.Millisecond
)

// Config configures a Server. Every field is required except WebConfigFile, Access, Registerer
// and Observations.
type Config struct {
	ListenAddress string // host:port; an empty host is every address, port 0 any free port
	// WebConfigFile is a file in the format of prometheus/exporter-toolkit, with TLS and basic
	// authentication. The server reads it, and the files that it names, again for each connection and request. Empty
	// for plain HTTP.
	WebConfigFile string
	// Access guards all paths but the probes and the list of paths. Nil if every client may read.
	Access Access
	// LocalOnly serves everything that names pods over loopback only, if Access is nil. Metrics and
	// probes stay open.
	LocalOnly bool
	// Hosts are host names, beside localhost and addresses, that requests over loopback may use,
	// for example through a proxy in the same pod.
	Hosts []string
	// Timelines returns the present pods as of now. It may block until ctx is done. It is called
	// from many goroutines at once.
	Timelines func(ctx context.Context) ([]timeline.Timeline, error)
	// Pulls returns the image pulls in progress. Its contract is that of Timelines.
	Pulls    func(ctx context.Context) (livepull.Snapshot, error)
	Statuses func() []health.Status // safe for concurrent use
	Required []string               // parts that must be up for /readyz; the others only degrade
	Gatherer prometheus.Gatherer
	// Registerer gets the server's own metrics. Nil for none.
	Registerer prometheus.Registerer
	// Observations writes the latest observations. It is safe for concurrent use. Nil if the agent
	// keeps none.
	Observations io.WriterTo
	Profiles     bool      // serve profiles of the agent itself
	API          API       // data that the API serves in addition to timelines and pulls
	Page         page.Page // what browsers get
	Logger       *zap.Logger
}

// Server answers HTTP on one listener.
type Server struct {
	config   Config
	listener net.Listener
}

// Listen binds the address, so that a busy port is known before anything else runs. The caller must
// then call Run or Close.
func Listen(ctx context.Context, config Config) (*Server, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", config.ListenAddress)
	if err != nil {
		return nil, fmt.Errorf("listen on --listen-address %s: %w", config.ListenAddress, err)
	}
	return &Server{config: config, listener: listener}, nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close releases the address if Run was never called.
func (s *Server) Close() error { return s.listener.Close() }

// Run serves until ctx is done. Then it lets requests in progress finish, for at most
// shutdownTimeout. It returns nil after a stop by ctx.
func (s *Server) Run(ctx context.Context) error {
	// Errors that faulty clients cause do not concern the operator.
	errorLog, err := zap.NewStdLogAt(s.config.Logger, zap.DebugLevel)
	if err != nil {
		return fmt.Errorf("make error log: %w", err)
	}
	dropped := newCounters(s.config.Registerer)
	limits, probes := newLimits(dropped), newProbes(s.config)
	server := newServer(ctx, newReads(s.config, limits, errorLog), errorLog)

	served := make(chan error, 1) // capacity 1, one send: never blocks
	go func() {
		served <- serve(limited(s.listener, limits.answers.reads, dropped), server, s.config,
			func(reads http.Handler) http.Handler {
				return middleware(limits, s.config.Hosts, probes, reads)
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

// newServer limits what a client can cost, in time and in bytes.
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
