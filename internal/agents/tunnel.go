package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/coder/websocket"
)

const (
	dataChannel  = 0
	errorChannel = 1
	maxReason    = 4 << 10
)

// tunnel is a forwarded connection over WebSocket. Each message begins with a byte that names its channel. One
// goroutine can read while another goroutine writes.
type tunnel struct {
	net.Conn // converts each write to a message
	messages *websocket.Conn
	message  io.Reader // unread part of the current message; nil between two messages
	begun    [2]bool   // for each channel: true if its first message has arrived
}

func newTunnel(messages *websocket.Conn) *tunnel {
	// The connection must stay open after the end of the request that opened the connection. Therefore, the connection
	// uses the background context. On this side, only Close ends the connection.
	return &tunnel{Conn: websocket.NetConn(context.Background(), messages, websocket.MessageBinary), messages: messages}
}

// Read implements net.Conn.
func (t *tunnel) Read(p []byte) (int, error) {
	for {
		if err := t.nextMessage(); err != nil {
			return 0, err
		}
		n, err := t.message.Read(p)
		if errors.Is(err, io.EOF) {
			t.message, err = nil, nil
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// nextMessage reads the beginning of the next data message. If the current message has unread data, nextMessage does
// nothing.
func (t *tunnel) nextMessage() error {
	for t.message == nil {
		kind, message, err := t.messages.Reader(context.Background())
		if websocket.CloseStatus(err) >= 0 || errors.Is(err, io.EOF) {
			return io.EOF
		}
		if err != nil {
			return fmt.Errorf("read from the forwarded port: %w", err)
		}
		if kind != websocket.MessageBinary {
			return errors.New("read from the forwarded port: received a text message instead of a binary message")
		}
		var channel [1]byte
		if _, err := io.ReadFull(message, channel[:]); errors.Is(err, io.EOF) {
			continue // an empty message
		} else if err != nil {
			return fmt.Errorf("read from the forwarded port: %w", err)
		}
		if channel[0] > errorChannel {
			return fmt.Errorf("read from the forwarded port: unknown channel %d", channel[0])
		}
		if begun := &t.begun[channel[0]]; !*begun {
			*begun = true
			var port [2]byte
			if _, err := io.ReadFull(message, port[:]); err != nil {
				return fmt.Errorf("read from the forwarded port: %w", err)
			}
		}
		if channel[0] == dataChannel {
			t.message = message
			continue
		}
		reason, err := io.ReadAll(io.LimitReader(message, maxReason))
		if len(reason) > 0 || err != nil {
			return errors.Join(fmt.Errorf("the kubelet reported: %q", reason), err)
		}
	}
	return nil
}

// Write implements net.Conn.
func (t *tunnel) Write(p []byte) (int, error) {
	if _, err := t.Conn.Write(append([]byte{dataChannel}, p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetDeadline implements net.Conn. A tunnel does not support deadlines for reads.
func (t *tunnel) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline implements net.Conn.
func (t *tunnel) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// Close implements net.Conn. Close does not wait for the other side to close the connection.
func (t *tunnel) Close() error { return t.messages.CloseNow() }
