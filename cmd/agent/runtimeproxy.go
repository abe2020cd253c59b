package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/podlapse/podlapse/internal/runtimeproxy"
	"github.com/podlapse/podlapse/pkg/cri"
)

const (
	runtimeProxyCommand = "runtime-proxy"
	proxySocket         = "/run/podlapse/runtime.sock" // by default
)

// proxyConfig is how the runtime proxy runs.
type proxyConfig struct {
	runtime   string // path of the runtime's socket
	listen    string // path of the proxy's own
	logLevel  zapcore.Level
	logFormat string
}

// settings is the table of the runtime-proxy command's flags. Those that run has as well have the same names.
func (c *proxyConfig) settings() []setting {
	return []setting{
		{
			flag: "cri-endpoint", variable: "CONTAINER_RUNTIME_ENDPOINT", value: "unix:///PATH", required: true,
			help: "socket of the container runtime", set: setSocket(&c.runtime),
		},
		{
			flag: "proxy-endpoint", variable: "PROXY_ENDPOINT", value: "unix:///PATH",
			def:  "unix://" + proxySocket,
			help: "socket to serve on, for --cri-endpoint of run; owned by the proxy's user and group, with mode 0660",
			set: func(value string) error {
				err := setSocket(&c.listen)(value)
				if err == nil && c.listen == c.runtime {
					return errors.New("must differ from --cri-endpoint: choose another path")
				}
				return err
			},
		},
		logLevelSetting(&c.logLevel), logFormatSetting(&c.logFormat),
	}
}

// maxSocketPath is the longest path in bytes that a socket's address has room for (unix(7)).
const maxSocketPath = 107

// setSocket accepts what --cri-endpoint of run accepts as a path.
func setSocket(path *string) func(value string) error {
	return func(value string) error {
		endpoint, err := cri.ParseEndpoint(value)
		if err != nil || endpoint.Path() == "" {
			return fmt.Errorf("invalid endpoint %q: must be unix:///absolute/path/of.sock", value)
		}
		if len(endpoint.Path()) > maxSocketPath {
			return fmt.Errorf(
				"invalid endpoint %q: the path has %d bytes, must be at most %d",
				value,
				len(endpoint.Path()),
				maxSocketPath,
			)
		}
		*path = endpoint.Path()
		return nil
	}
}

// runRuntimeProxy serves until ctx ends. Its log is all that it tells: what is asked for it is a call on the socket.
func runRuntimeProxy(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c proxyConfig
	_, err := settle(c.settings(), args, getenv, 0)
	if errors.Is(err, errHelp) {
		printHelp(
			stdout,
			agentProgram,
			"runtime-proxy [flags]\n\nForwards read-only calls to the container runtime for an agent in another container.\n"+
				"Refuses every other call before it reaches the runtime.",
			c.settings(),
		)
		return exitOK
	}
	if err != nil {
		return failUsage(stderr, runtimeProxyCommand, err)
	}
	logger := newLogger(c.logLevel, c.logFormat, stderr)
	proxy, err := runtimeproxy.Listen(runtimeproxy.Config{Runtime: c.runtime, Listen: c.listen, Logger: logger})
	if err != nil {
		logger.Error("runtime proxy failed", zap.Error(err))
		return exitFailed
	}
	logger.Info("starting runtime proxy", zap.String("version", thisBuild().Version), zap.String("runtime", c.runtime),
		zap.String("socket", c.listen))
	if err := proxy.Run(ctx); err != nil {
		logger.Error("runtime proxy failed", zap.Error(err))
		return exitFailed
	}
	logger.Info("stopped")
	return exitOK
}
