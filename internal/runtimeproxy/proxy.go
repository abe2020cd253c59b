package runtimeproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	// maxRequest bounds one request in bytes. The longest, an image's name or digest, has a few hundred.
	maxRequest = 64 << 10
	// maxAnswer bounds one message of an answer in bytes, as the agent's own client does.
	maxAnswer = 16 << 20
	// maxCalls is how many calls the runtime gets at once. The agent makes four: two questions, a sign of life,
	// downloads.
	maxCalls = 8
	// maxWaiting is how many calls of one connection may wait for that. More wait in the client.
	maxWaiting = 64
	// maxConnections is how many clients there may be: the agent, and commands that somebody runs beside it.
	maxConnections = 128
	// callLimit is how long a call may take at most. The agent gives it 2 s.
	callLimit = time.Minute
	// lingerLimit is how long a proxy that is to end serves the clients that it has. All containers of a pod are asked
	// to end at once, and the agent, which takes 5 s at most, is not to lose the runtime before.
	lingerLimit = 6 * time.Second
	// maxReconnectDelay bounds how long the connection stays down after the runtime is back. It adds to that of the
	// agent.
	maxReconnectDelay = 500 * time.Millisecond
)

// Config is what a Proxy needs.
type Config struct {
	Runtime string // absolute path of the runtime's socket
	Listen  string // absolute path of the socket to serve on
	Logger  *zap.Logger
}

// Proxy forwards calls. Make it with Listen.
type Proxy struct {
	config   Config
	listener *bounded
	server   *grpc.Server
	runtime  *grpc.ClientConn
	calls    *semaphore.Weighted
	refused  refused
}

// Listen makes a proxy that listens and does not serve yet. The runtime need not be there. Whoever gets a proxy has to
// call Run.
func Listen(config Config) (*Proxy, error) {
	p := &Proxy{config: config, calls: semaphore.NewWeighted(maxCalls), refused: refused{logger: config.Logger}}
	var err error
	p.runtime, err = grpc.NewClient("unix://"+config.Runtime,
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the socket's mode is what protects it
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay:  50 * time.Millisecond,
				Multiplier: 2,
				Jitter:     0.2,
				MaxDelay:   maxReconnectDelay,
			},
			// As the agent has it: for a runtime that takes connections and does not answer.
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
	p.listener = newBounded(socket)
	p.server = grpc.NewServer(
		grpc.ForceServerCodecV2(codec{}),
		grpc.UnknownServiceHandler(p.forward), // there is no other one: every call goes through it
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxConcurrentStreams(maxWaiting),
		grpc.MaxHeaderListSize(16<<10),
		grpc.ConnectionTimeout(5*time.Second),
	)
	return p, nil
}

// Run serves until ctx ends, and then until the clients that there are have gone, for 6 s at most. It returns an error
// only if it can serve no more. It may be called once, and leaves no socket behind.
func (p *Proxy) Run(ctx context.Context) error {
	defer p.runtime.Close()
	served := make(chan error, 1)
	go func() { served <- p.server.Serve(p.listener) }()
	var err error
	select {
	case err = <-served:
		err = fmt.Errorf("serve on %s: %w", p.config.Listen, err)
	case <-ctx.Done():
		p.linger()
	}
	p.server.Stop()
	if err == nil {
		if err = <-served; errors.Is(err, grpc.ErrServerStopped) || errors.Is(err, net.ErrClosed) {
			err = nil
		}
	}
	p.refused.sum()
	return err
}

func (p *Proxy) linger() {
	limit := time.NewTimer(lingerLimit)
	defer limit.Stop()
	select {
	case <-p.listener.empty():
	case <-limit.C:
	}
}
