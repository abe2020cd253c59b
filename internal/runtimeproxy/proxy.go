package runtimeproxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	// maxRequest is the maximum size of one request in bytes. The longest requests contain an image name or digest
	// and have a few hundred bytes.
	maxRequest = 64 << 10
	// maxResponse is the maximum size in bytes of one message of a response. The agent's own client has the same
	// limit.
	maxResponse = 16 << 20
	// maxCalls is the maximum number of concurrent calls to the runtime. The agent makes at most four concurrent calls:
	// two queries, a heartbeat, and a list of downloads.
	maxCalls = 8
	// maxWaiting is the maximum number of open calls of one connection, including the calls that wait in the proxy. If
	// a connection has maxWaiting open calls, new calls wait in the client.
	maxWaiting = 64
	// maxConnections is the maximum number of open connections. The clients are the agent, and commands that run in its
	// pod.
	maxConnections = 128
	// callLimit is the maximum duration of a call. The agent never reaches callLimit, because it ends each of its calls
	// after at most 2 s.
	callLimit = time.Minute
	// lingerLimit is how long a stopping proxy still serves its clients. The kubelet stops all containers of a pod at
	// the same time. The agent takes up to 5 s to stop and requires the runtime during this time.
	lingerLimit = 6 * time.Second
	// lingerCheck is the interval at which a stopping proxy checks whether its clients have disconnected.
	lingerCheck = 20 * time.Millisecond
	// maxReconnectDelay is the maximum delay between two attempts to connect to the runtime. The agent also has its
	// own delay before it reconnects.
	maxReconnectDelay = 500 * time.Millisecond
)

// Config configures a Proxy.
type Config struct {
	Runtime string // absolute path of the runtime's socket
	Listen  string // absolute path of the proxy's socket
	Logger  *zap.Logger
}

// Proxy forwards calls. Listen creates a Proxy.
type Proxy struct {
	config   Config
	listener *boundedListener
	server   *grpc.Server
	runtime  *grpc.ClientConn
	calls    *semaphore.Weighted
	refused  refusedCalls
}

// Listen creates a proxy that listens but does not serve yet. The runtime does not need to run yet. The caller must
// call Run.
func Listen(config Config) (*Proxy, error) {
	p := &Proxy{config: config, calls: semaphore.NewWeighted(maxCalls), refused: refusedCalls{logger: config.Logger}}
	var err error
	p.runtime, err = grpc.NewClient("unix://"+config.Runtime,
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the mode of the socket protects the connection
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxResponse)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay:  50 * time.Millisecond,
				Multiplier: 2,
				Jitter:     0.2,
				MaxDelay:   maxReconnectDelay,
			},
			// MinConnectTimeout limits the wait for a runtime that accepts connections but does not respond. The
			// agent's own client has the same limit.
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Runtime, err)
	}
	socket, err := listen(config.Listen)
	if err != nil {
		_ = p.runtime.Close()
		return nil, err
	}
	p.listener = &boundedListener{socket, make(chan struct{}, maxConnections)}
	p.server = grpc.NewServer(
		grpc.ForceServerCodecV2(codec{}),
		grpc.UnknownServiceHandler(p.forward), // the only handler, so it receives every call
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxConcurrentStreams(maxWaiting),
		grpc.MaxHeaderListSize(16<<10),
		grpc.ConnectionTimeout(5*time.Second),
	)
	return p, nil
}

// Run serves until ctx is done. After ctx is done, Run still serves its clients until they disconnect, but for at most
// 6 s. Run returns an error only if it cannot continue. Before Run returns, it removes the socket. The caller can call
// Run only once.
func (p *Proxy) Run(ctx context.Context) error {
	defer p.runtime.Close()
	defer p.refused.logCounts()
	defer p.server.Stop()
	defer context.AfterFunc(ctx, func() {
		p.linger()
		p.server.Stop()
	})()
	err := p.server.Serve(p.listener) // nil, or ErrServerStopped if ctx was done before Serve
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve on %s: %w", p.config.Listen, err)
	}
	return nil
}

// linger waits until all connections are closed, or until lingerLimit has passed.
func (p *Proxy) linger() {
	end := time.Now().Add(lingerLimit)
	for len(p.listener.open) > 0 && time.Now().Before(end) {
		time.Sleep(lingerCheck)
	}
}
