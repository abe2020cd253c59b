package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve serves the control interface at the address "control", and images at the addresses "images". Serve runs until
// ctx ends or an error occurs. The guard protects only the images. The registry's background process runs Serve.
func Serve(ctx context.Context, dir string, guard Guard, control string, images ...string) error {
	const limit = 8 << 30
	server, err := New(dir, limit)
	if err != nil {
		return err
	}
	if server.login, err = guard.Login(); err != nil {
		return err
	}
	secure, err := guard.serverConfig()
	if err != nil {
		return err
	}
	handlers := map[string]http.Handler{control: server.Control()}
	for _, address := range images {
		handlers[address] = http.HandlerFunc(server.Images)
	}
	var servers []*http.Server
	failed := make(chan error, len(handlers)) // each listener reports at most one error
	for address, handler := range handlers {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("serve registry: %w", err)
		}
		if secure != nil && address != control {
			listener = tls.NewListener(listener, secure)
		}
		// There is no write timeout, because a scenario can make a response arbitrarily slow.
		s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, s)
		go func() { failed <- s.Serve(listener) }()
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	for _, s := range servers {
		_ = s.Close()
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve registry: %w", err)
	}
	return nil
}
