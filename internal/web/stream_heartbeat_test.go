package web

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/live/livetest"
	"github.com/podlapse/podlapse/internal/startuptest"
)

// A viewer with a filter gets heartbeats, even if all events concern other pods.
func TestFilteredStreamHasHeartbeats(t *testing.T) {
	streamed(t, func(t *testing.T, c *livetest.Pods, dial func() net.Conn) {
		one, other := startuptest.New(1), startuptest.New(2)
		v := watch(t, dial(), "?namespace="+one.Namespace)
		defer v.conn.Close()
		v.next(t)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			for n := 0; backoff.Sleep(ctx, time.Second); n++ {
				c.Set(startuptest.Changed(other, n%2))
			}
		}()
		defer time.AfterFunc(10*heartbeat, func() { v.conn.Close() }).Stop()
		began := time.Now()
		for range 3 {
			for line := ""; line != ":\n"; {
				var err error
				if line, err = v.events.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
		}
		if took := time.Since(began); took > 4*heartbeat {
			t.Errorf("three heartbeats took %s", took)
		}
	})
}
