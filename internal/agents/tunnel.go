package agents

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// The opcodes of WebSocket frames (RFC 6455, 5.2).
const (
	opContinuation = 0x0
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa
)

const (
	dataChannel  = 0
	errorChannel = 1
	maxControl   = 125 // bytes of a ping
	maxReason    = 4 << 10
)

// tunnel is a forwarded connection in WebSocket frames. One goroutine may read while another
// writes.
type tunnel struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader

	channel byte   // of the frame being read
	left    uint64 // unread bytes of it
	skip    [2]int // per channel, bytes of the port that come first

	writing sync.Mutex // pongs are written while reading
}

// Read implements net.Conn.
func (t *tunnel) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if t.left == 0 {
			if err := t.next(); err != nil {
				return 0, err
			}
			continue
		}
		if skip := &t.skip[t.channel]; *skip > 0 {
			if _, err := t.in.Discard(1); err != nil {
				return 0, err
			}
			*skip--
			t.left--
			continue
		}
		if t.channel == errorChannel {
			reason, err := io.ReadAll(io.LimitReader(t.in, int64(min(t.left, maxReason))))
			return 0, errors.Join(fmt.Errorf("the kubelet says: %q", reason), err)
		}
		n, err := t.in.Read(p[:min(uint64(len(p)), t.left)])
		t.left -= uint64(n)
		return n, err
	}
}

// next reads the header of a frame, and answers frames for the connection itself.
func (t *tunnel) next() error {
	var head [2]byte
	if _, err := io.ReadFull(t.in, head[:]); err != nil {
		return err
	}
	length := uint64(head[1] & 0x7f)
	if size := map[uint64]int{126: 2, 127: 8}[length]; size > 0 {
		var long [8]byte
		if _, err := io.ReadFull(t.in, long[8-size:]); err != nil {
			return err
		}
		length = binary.BigEndian.Uint64(long[:])
	}
	if head[1]&0x80 != 0 {
		return errors.New("read forwarded port: masked frame from the server")
	}
	switch opcode := head[0] & 0x0f; opcode {
	case opClose:
		return io.EOF
	case opPing, opPong:
		if length > maxControl {
			return errors.New("read forwarded port: control frame too long")
		}
		content := make([]byte, length)
		if _, err := io.ReadFull(t.in, content); err != nil || opcode == opPong {
			return err
		}
		return t.frame(opPong, content)
	case opContinuation:
	case opBinary:
		if length == 0 {
			return nil
		}
		channel, err := t.in.ReadByte()
		if err != nil {
			return err
		}
		if channel > errorChannel {
			return fmt.Errorf("read forwarded port: unknown channel %d", channel)
		}
		t.channel = channel
		length--
	default:
		return fmt.Errorf("read forwarded port: unknown frame %#x", opcode)
	}
	t.left = length
	return nil
}

// Write implements net.Conn.
func (t *tunnel) Write(p []byte) (int, error) {
	if err := t.frame(opBinary, append([]byte{dataChannel}, p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// frame writes one frame, masked as a client's must be.
func (t *tunnel) frame(opcode byte, content []byte) error {
	frame := []byte{0x80 | opcode}
	switch n := len(content); {
	case n <= maxControl:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:]) // never fails
	frame = append(frame, mask[:]...)
	for i, c := range content {
		frame = append(frame, c^mask[i%4])
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	_, err := t.conn.Write(frame)
	return err
}

// Close implements net.Conn.
func (t *tunnel) Close() error { return t.conn.Close() }

// LocalAddr implements net.Conn.
func (t *tunnel) LocalAddr() net.Addr { return forwardedPort{} }

// RemoteAddr implements net.Conn.
func (t *tunnel) RemoteAddr() net.Addr { return forwardedPort{} }

// SetDeadline implements net.Conn. The context of a request closes the connection instead.
func (t *tunnel) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline implements net.Conn.
func (t *tunnel) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline implements net.Conn.
func (t *tunnel) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// forwardedPort is the address of both ends.
type forwardedPort struct{}

// Network implements net.Addr.
func (forwardedPort) Network() string { return "portforward" }

// String implements net.Addr.
func (forwardedPort) String() string { return "portforward" }
