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

// Asked holds what a web configuration file requires of every client.
type Asked struct{ Passwords, Certificates bool }

// CheckConfigFile validates the file of Config.WebConfigFile and the files that it names, and
// returns what it requires of clients.
func CheckConfigFile(path string) (Asked, error) {
	if err := toolkit.Validate(path); err != nil {
		return Asked{}, fmt.Errorf("read %s: %w", path, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Asked{}, err
	}
	var config toolkit.Config
	if err := yaml.Unmarshal(text, &config); err != nil {
		return Asked{}, fmt.Errorf("read %s: %w", path, err)
	}
	return Asked{Passwords: len(config.Users) > 0,
		Certificates: config.TLSConfig.ClientAuth == "RequireAndVerifyClientCert"}, nil
}

// serve serves as the web configuration file says, until the listener or the server is closed. The
// middleware runs before the server's handler.
func serve(l net.Listener, server *http.Server, config Config, middleware func(http.Handler) http.Handler) error {
	if config.WebConfigFile == "" {
		server.Handler = middleware(server.Handler)
		return server.Serve(l)
	}
	// The toolkit puts its handler, which checks passwords, before the server's. The middleware
	// must run before that: it answers probes and limits floods, where each wrong password would
	// cost tens of milliseconds. The toolkit's handler is in place when the server accepts the
	// first connection, on this goroutine.
	before := &beforeFirst{Listener: l, do: sync.OnceFunc(func() { server.Handler = middleware(server.Handler) })}
	return toolkit.Serve(before, server, &toolkit.FlagConfig{WebConfigFile: &config.WebConfigFile},
		sampled(config.Logger))
}

// beforeFirst calls a function before the first Accept.
type beforeFirst struct {
	net.Listener
	do func()
}

// Accept implements net.Listener.
func (l *beforeFirst) Accept() (net.Conn, error) {
	l.do()
	return l.Listener.Accept()
}

// sampled passes on one message of a kind per minute: the toolkit logs at each request that the
// file is no longer readable.
func sampled(logger *zap.Logger) *slog.Logger {
	return slog.New(zapslog.NewHandler(zapcore.NewSamplerWithOptions(logger.Core(), time.Minute, 1, 0)))
}
