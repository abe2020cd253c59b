package web

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
	"go.yaml.in/yaml/v2"
)

// RequiredAuth lists the credentials that a web configuration file requires from every client: passwords, client
// certificates, or both.
type RequiredAuth struct{ Passwords, Certificates bool }

// CheckConfigFile validates the web configuration file and the files that it names. CheckConfigFile returns the kinds
// of credentials that the file requires from every client.
func CheckConfigFile(path string) (RequiredAuth, error) {
	if err := toolkit.Validate(path); err != nil {
		return RequiredAuth{}, fmt.Errorf("read %s: %w", path, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return RequiredAuth{}, err
	}
	var config toolkit.Config
	if err := yaml.Unmarshal(text, &config); err != nil {
		return RequiredAuth{}, fmt.Errorf("read %s: %w", path, err)
	}
	return RequiredAuth{Passwords: len(config.Users) > 0,
		Certificates: config.TLSConfig.ClientAuth == "RequireAndVerifyClientCert"}, nil
}

// serve responds to requests as the web configuration file specifies, until the listener or the server is closed. The
// middleware runs before the server's handler.
func serve(l net.Listener, server *http.Server, config Config, middleware func(http.Handler) http.Handler) error {
	if config.WebConfigFile == "" {
		server.Handler = middleware(server.Handler)
		return server.Serve(l)
	}
	// The toolkit puts its own handler, which checks passwords, in front of the server's handler. The middleware must
	// run before the toolkit's handler, because the check of each wrong password costs tens of milliseconds. The
	// middleware responds to probes and limits floods of requests. The toolkit replaces the server's handler, and then
	// calls Accept on the same goroutine. So the first call of Accept can safely add the middleware.
	before := &beforeFirst{Listener: l, do: sync.OnceFunc(func() { server.Handler = middleware(server.Handler) })}
	return toolkit.Serve(before, server, &toolkit.FlagConfig{WebConfigFile: &config.WebConfigFile},
		sampledLogger(config.Logger))
}

// beforeFirst calls the function in the field "do" before the first Accept.
type beforeFirst struct {
	net.Listener
	do func()
}

// Accept implements net.Listener.
func (l *beforeFirst) Accept() (net.Conn, error) {
	l.do()
	return l.Listener.Accept()
}

// sampledLogger returns a logger that passes on each message at most once per minute. If the web configuration
// file is no longer readable, the toolkit logs an error for each request.
func sampledLogger(logger *zap.Logger) *slog.Logger {
	return slog.New(zapslog.NewHandler(zapcore.NewSamplerWithOptions(logger.Core(), time.Minute, 1, 0)))
}
