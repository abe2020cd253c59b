package main

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/runtimeproxy"
	"github.com/podlapse/podlapse/pkg/cri"
)

const (
	runtimeProxyCommand = "runtime-proxy"
	proxySocket         = "/run/podlapse/runtime.sock" // default of --proxy-endpoint
)

// proxyConfig is the configuration of the runtime proxy.
type proxyConfig struct {
	runtime   string // path of the runtime's socket
	listen    string // path of the proxy's socket
	logLevel  zapcore.Level
	logFormat string
}

// table lists the flags of the command `runtime-proxy`. If the command `run` has a flag with the same purpose, both
// flags have the same name.
func (c *proxyConfig) table() flags.Table {
	return flags.Table{
		{
			Name: "cri-endpoint", Variable: "CONTAINER_RUNTIME_ENDPOINT", Value: "unix:///PATH", Required: true,
			Help: "socket of the container runtime", Set: setSocket(&c.runtime),
		},
		{
			Name: "proxy-endpoint", Variable: "PROXY_ENDPOINT", Value: "unix:///PATH",
			Default: "unix://" + proxySocket,
			Help: "socket on which the proxy listens. Set the agent's --cri-endpoint to this socket. The socket has " +
				"mode 0660, and belongs to the user and group of the proxy",
			Set: func(value string) error {
				err := setSocket(&c.listen)(value)
				if err == nil && c.listen == c.runtime {
					return errors.New("the socket must differ from --cri-endpoint: choose another path")
				}
				return err
			},
		},
		logLevelFlag(&c.logLevel), logFormatFlag(&c.logFormat),
	}
}

// maxSocketPath is the maximum length in bytes of the path of a Unix socket (unix(7)).
const maxSocketPath = 107

// setSocket returns a function that stores the path of the socket unix:///PATH. The function accepts the same paths as
// the flag --cri-endpoint of the command `run`, but at most maxSocketPath bytes.
func setSocket(path *string) func(value string) error {
	return func(value string) error {
		endpoint, err := cri.ParseEndpoint(value)
		if err != nil || endpoint.Path() == "" {
			return fmt.Errorf("invalid endpoint %q: must be unix:///absolute/path/of.sock", value)
		}
		if len(endpoint.Path()) > maxSocketPath {
			return fmt.Errorf(
				"invalid endpoint %q: the path has %d bytes, but the maximum is %d: use a shorter path",
				value,
				len(endpoint.Path()),
				maxSocketPath,
			)
		}
		*path = endpoint.Path()
		return nil
	}
}

// runRuntimeProxy serves until ctx is done. runRuntimeProxy prints only log messages.
func runRuntimeProxy(ctx context.Context, call cli.Call) int {
	var c proxyConfig
	_, code, ok := call.Parse(c.table(), "runtime-proxy [flags]\n\n"+
		"Forwards read-only calls to the container runtime for an agent in another container.\n"+
		"Refuses every other call before it reaches the runtime.", 0)
	if !ok {
		return code
	}
	logger := newLogger(c.logLevel, c.logFormat, call.Stderr)
	proxy, err := runtimeproxy.Listen(runtimeproxy.Config{Runtime: c.runtime, Listen: c.listen, Logger: logger})
	if err != nil {
		logger.Error("runtime proxy failed", zap.Error(err))
		return cli.ExitFailed
	}
	logger.Info("starting runtime proxy", zap.String("version", thisBuild().version), zap.String("runtime", c.runtime),
		zap.String("socket", c.listen))
	if err := proxy.Run(ctx); err != nil {
		logger.Error("runtime proxy failed", zap.Error(err))
		return cli.ExitFailed
	}
	logger.Info("stopped")
	return cli.ExitOK
}
