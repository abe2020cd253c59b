package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"syscall"
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
	writeTimeout    = 30 * time.Second // the handler of a stream extends its own deadline
	idleTimeout     = 2 * time.Minute  // longer than a usual scrape interval, so that scrapers keep their connections
	maxHeaderBytes  = 16 << 10
	streamsAtOnce   = 32 // limit for each HTTP/2 connection; equal to maxPerClient
	shutdownTimeout = 1500 * time.Millisecond
)

// Config configures a Server. All fields are required, except WebConfigFile, Access, LocalOnly, Hosts, Registerer,
// Observations and Profiles.
type Config struct {
	ListenAddress string // HOST:PORT; an empty host means every address, and port 0 means any free port
	// WebConfigFile is the path of a file in the format of prometheus/exporter-toolkit. The file configures TLS and
	// basic authentication. For each connection and request, the server reads this file and all files that this file
	// names. If WebConfigFile is empty, the server uses HTTP without TLS.
	WebConfigFile string
	// Access guards all paths except the probes and the list of paths. The path / returns the list of paths to all
	// clients that are not browsers. If Access is nil, the server checks no tokens.
	Access Access
	// With LocalOnly, only clients on loopback can read data with the names of pods. Metrics and probes stay open to
	// every client. LocalOnly has no effect if Access is set.
	LocalOnly bool
	// Hosts are additional host names that the server accepts in requests over loopback, for example from a proxy in
	// the same pod. Requests to an IP address or to the host name "localhost" need no entry in Hosts.
	Hosts []string
	// Timelines returns the timelines of the pods that exist at the time of the call. Timelines can block until ctx is
	// done. Many goroutines call Timelines at the same time.
	Timelines func(ctx context.Context) ([]timeline.Timeline, error)
	// Pulls returns the image pulls in progress. Pulls can block until ctx is done. Many goroutines call Pulls at
	// the same time.
	Pulls    func(ctx context.Context) (livepull.Snapshot, error)
	Statuses func() []health.Status // states of the agent's parts; must be safe for concurrent use
	Required []string               // parts that must be up for /readyz to succeed
	Gatherer prometheus.Gatherer
	// Registerer registers the server's own metrics. If Registerer is nil, the server has no metrics of its own.
	Registerer prometheus.Registerer
	// Observations writes the latest observations. Observations is safe for concurrent use. Observations is nil if
	// the agent keeps no observations.
	Observations io.WriterTo
	Profiles     bool      // true if the server serves profiles of the agent
	API          API       // data that the API serves in addition to timelines and pulls
	Page         page.Page // the files of the web page
	Logger       *zap.Logger
}

// Server serves HTTP on one listener.
type Server struct {
	config   Config
	listener net.Listener
}

// Listen binds the address, so that the agent detects a busy port before it starts anything else. After Listen, the
// caller must call Run or Close.
func Listen(ctx context.Context, config Config) (*Server, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", config.ListenAddress)
	if err != nil {
		return nil, listenError(config.ListenAddress, err)
	}
	return &Server{config: config, listener: listener}, nil
}

// listenError adds the address to an error of Listen. If the cause is known, listenError also adds a remedy. The error
// of package net also contains the address, so listenError removes that part.
func listenError(address string, err error) error {
	var operation *net.OpError
	if errors.As(err, &operation) {
		err = operation.Err
	}
	remedy := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		remedy = ": stop the process that listens on this address, or choose another address"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		remedy = ": choose an address of this node"
	case errors.Is(err, fs.ErrPermission):
		remedy = ": choose a port that the agent's user can use, for example 9717"
	}
	return fmt.Errorf("listen on --listen-address %s: %w%s", address, err, remedy)
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close releases the address if the caller never calls Run.
func (s *Server) Close() error { return s.listener.Close() }

// Run serves requests until ctx is done. After ctx is done, Run waits for the requests in progress, for at most
// shutdownTimeout. Run returns nil if ctx stopped the server.
func (s *Server) Run(ctx context.Context) error {
	// The level is debug because operators cannot fix errors of faulty clients.
	errorLog, err := zap.NewStdLogAt(s.config.Logger, zap.DebugLevel)
	if err != nil {
		return fmt.Errorf("create the error log: %w", err)
	}
	dropped := newCounters(s.config.Registerer)
	limits, probes := newLimits(dropped), newProbes(s.config)
	server := newServer(ctx, newReads(s.config, limits, errorLog), errorLog)

	served := make(chan error, 1) // capacity 1, so that the only send never blocks
	go func() {
		served <- serve(limitConnections(s.listener, limits.responses.isReader, dropped), server, s.config,
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
			s.config.Logger.Debug("cannot close the HTTP server", zap.Error(closeErr))
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// newServer creates the HTTP server. The server limits the time and the header size of each request.
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
		// When the agent stops, ctx ends, and requests stop waiting for snapshots.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	followActivity(server)
	return server
}
