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
	// maxRequest limits one request in bytes. The longest, with an image's name or digest, has a
	// few hundred.
	maxRequest = 64 << 10
	// maxAnswer limits one message of a response in bytes, like the agent's own client.
	maxAnswer = 16 << 20
	// maxCalls is how many calls the runtime gets at once. The agent makes four: two questions, a
	// heartbeat, downloads.
	maxCalls = 8
	// maxWaiting is how many calls of one connection may wait for that. More wait in the client.
	maxWaiting = 64
	// maxConnections limits the clients: the agent, and commands that run beside it.
	maxConnections = 128
	// callLimit is the longest duration of a call. The agent's timeout is 2 s.
	callLimit = time.Minute
	// lingerLimit is how long a stopping proxy serves its existing clients. The kubelet stops all containers of a pod
	// at once. The agent needs up to 5 s to stop and must not lose the runtime until then.
	lingerLimit = 6 * time.Second
	// lingerCheck is how often a stopping proxy checks whether its clients have disconnected.
	lingerCheck = 20 * time.Millisecond
	// maxReconnectDelay limits how long the connection stays down after the runtime is back. It
	// adds to that of the agent.
	maxReconnectDelay = 500 * time.Millisecond
)

// Config configures a Proxy.
type Config struct {
	Runtime string // absolute path of the runtime's socket
	Listen  string // absolute path of the socket to serve on
	Logger  *zap.Logger
}

// Proxy forwards calls. Listen creates one.
type Proxy struct {
	config   Config
	listener *bounded
	server   *grpc.Server
	runtime  *grpc.ClientConn
	calls    *semaphore.Weighted
	refused  refused
}

// Listen creates a proxy that listens and does not serve yet. The runtime need not be running. The
// caller must call Run.
func Listen(config Config) (*Proxy, error) {
	p := &Proxy{config: config, calls: semaphore.NewWeighted(maxCalls), refused: refused{logger: config.Logger}}
	var err error
	p.runtime, err = grpc.NewClient("unix://"+config.Runtime,
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the socket's mode protects it
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay:  50 * time.Millisecond,
				Multiplier: 2,
				Jitter:     0.2,
				MaxDelay:   maxReconnectDelay,
			},
			// As in the agent: for a runtime that accepts connections and does not respond.
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
	p.listener = &bounded{socket, make(chan struct{}, maxConnections)}
	p.server = grpc.NewServer(
		grpc.ForceServerCodecV2(codec{}),
		grpc.UnknownServiceHandler(p.forward), // the only handler: every call goes through it
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxConcurrentStreams(maxWaiting),
		grpc.MaxHeaderListSize(16<<10),
		grpc.ConnectionTimeout(5*time.Second),
	)
	return p, nil
}

// Run serves until ctx ends, and then until its clients have disconnected, for at most 6 s. It
// returns an error only if it cannot continue to serve. It may be called once, and removes the
// socket.
func (p *Proxy) Run(ctx context.Context) error {
	defer p.runtime.Close()
	defer p.refused.sum()
	defer p.server.Stop()
	defer context.AfterFunc(ctx, func() {
		p.linger()
		p.server.Stop()
	})()
	err := p.server.Serve(p.listener) // nil, or ErrServerStopped if ctx ended before it began
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve on %s: %w", p.config.Listen, err)
	}
	return nil
}

// linger waits until no connection is open, for at most lingerLimit.
func (p *Proxy) linger() {
	end := time.Now().Add(lingerLimit)
	for len(p.listener.open) > 0 && time.Now().Before(end) {
		time.Sleep(lingerCheck)
	}
}
