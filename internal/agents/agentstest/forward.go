package agentstest

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
)

// forward serves pods/portforward over WebSocket, like the kubelet: a binary message begins with
// its channel, and the first one of each channel is the port, in two bytes.
func forward(w http.ResponseWriter, r *http.Request, pods []Pod, namespace, name string) {
	for _, p := range pods {
		if p.Namespace != namespace || p.Name != name {
			continue
		}
		port := r.URL.Query().Get("ports")
		server, err := url.Parse(p.Agent)
		if err != nil || p.Agent == "" || port != strconv.Itoa(p.Port) ||
			r.Header.Get("Sec-WebSocket-Protocol") != "v4.channel.k8s.io" {
			status(w, http.StatusBadRequest, fmt.Sprintf("cannot forward port %q", port))
			return
		}
		agent, err := net.Dial("tcp", server.Host)
		if err != nil {
			status(w, http.StatusInternalServerError, err.Error())
			return
		}
		defer agent.Close()
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Protocol: v4.channel.k8s.io\r\nSec-WebSocket-Accept: %s\r\n\r\n",
			base64.StdEncoding.EncodeToString(sum[:]))
		exchange(conn, buffered.Reader, agent, p.Port)
		return
	}
	status(w, http.StatusNotFound, fmt.Sprintf("pods %q not found", name))
}

// exchange ends when one of both sides does.
func exchange(conn net.Conn, in *bufio.Reader, agent net.Conn, port int) {
	var head [2]byte
	binary.LittleEndian.PutUint16(head[:], uint16(port))
	for channel := range byte(2) {
		_ = send(conn, 0x2, append([]byte{channel}, head[:]...))
	}
	_ = send(conn, 0x9, []byte("alive?")) // a proxy may send a ping at any time
	var ended sync.WaitGroup
	ended.Go(func() {
		defer conn.Close()
		part := make([]byte, 70_000)
		for {
			n, err := agent.Read(part)
			if n > 0 && send(conn, 0x2, append([]byte{0}, part[:n]...)) != nil || err != nil {
				return
			}
		}
	})
	ended.Go(func() {
		defer agent.Close()
		for {
			opcode, content, err := receive(in)
			if err != nil {
				return
			}
			if opcode != 0x2 || len(content) == 0 {
				continue
			}
			if _, err := agent.Write(content[1:]); err != nil {
				return
			}
		}
	})
	ended.Wait()
}

func send(w io.Writer, opcode byte, content []byte) error {
	frame := []byte{0x80 | opcode}
	switch n := len(content); {
	case n < 126:
		frame = append(frame, byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 127), uint64(n))
	}
	_, err := w.Write(append(frame, content...))
	return err
}

func receive(r io.Reader) (opcode byte, content []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	length := uint64(head[1] & 0x7f)
	if size := map[uint64]int{126: 2, 127: 8}[length]; size > 0 {
		var long [8]byte
		if _, err := io.ReadFull(r, long[8-size:]); err != nil {
			return 0, nil, err
		}
		length = binary.BigEndian.Uint64(long[:])
	}
	masked := make([]byte, 4+length)
	if _, err := io.ReadFull(r, masked); err != nil || head[1]&0x80 == 0 {
		return 0, nil, fmt.Errorf("no masked frame: %w", err)
	}
	content = masked[4:]
	for i := range content {
		content[i] ^= masked[i%4]
	}
	return head[0] & 0x0f, content, nil
}
