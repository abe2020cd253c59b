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

// Asked is what a web configuration file asks every reader for.
type Asked struct{ Passwords, Certificates bool }

// CheckConfigFile says what is wrong with the file of Config.WebConfigFile and those that it names,
// and what it asks for.
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

// serve serves with what the web configuration file asks for, until the listener or the server is closed. The front
// stands before the server's handler.
func serve(l net.Listener, server *http.Server, config Config, front func(http.Handler) http.Handler) error {
	if config.WebConfigFile == "" {
		server.Handler = front(server.Handler)
		return server.Serve(l)
	}
	// The toolkit puts its handler, which asks for a password, before the server's. The front has to stand before
	// that: it holds back floods, each wrong password of which costs tens of milliseconds, and answers probes. The
	// toolkit's handler is in place when the server asks for the first connection, on this goroutine.
	before := &beforeFirst{Listener: l, do: sync.OnceFunc(func() { server.Handler = front(server.Handler) })}
	return toolkit.Serve(before, server, &toolkit.FlagConfig{WebConfigFile: &config.WebConfigFile},
		sampled(config.Logger))
}

// beforeFirst does something before the first Accept.
type beforeFirst struct {
	net.Listener
	do func()
}

// Accept implements net.Listener.
func (l *beforeFirst) Accept() (net.Conn, error) {
	l.do()
	return l.Listener.Accept()
}

// sampled lets through one message of a kind a minute: the toolkit tells at each request that the file has become
// unreadable.
func sampled(logger *zap.Logger) *slog.Logger {
	return slog.New(zapslog.NewHandler(zapcore.NewSamplerWithOptions(logger.Core(), time.Minute, 1, 0)))
}
