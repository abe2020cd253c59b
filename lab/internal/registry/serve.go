package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve serves images and the control interface at two addresses until ctx ends. The registry's background process runs
// Serve.
func Serve(ctx context.Context, images, control, dir string) error {
	const limit = 8 << 30
	server, err := New(dir, limit)
	if err != nil {
		return err
	}
	handlers := map[string]http.Handler{images: http.HandlerFunc(server.Images), control: server.Control()}
	var servers []*http.Server
	failed := make(chan error, len(handlers)) // enough space, because each listener reports at most one error
	for address, handler := range handlers {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("serve registry: %w", err)
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
