package agentstest

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/coder/websocket"
)

// protocol is the subprotocol of port forwarding over WebSocket.
const protocol = "v4.channel.k8s.io"

// forward serves pods/portforward over WebSocket, like the kubelet. Each binary message begins with the number of its
// channel. The first message of each channel contains the port, in two bytes.
func forward(w http.ResponseWriter, r *http.Request, pods []Pod, namespace, name string) {
	for _, p := range pods {
		if p.Namespace != namespace || p.Name != name {
			continue
		}
		port := r.URL.Query().Get("ports")
		server, err := url.Parse(p.Agent)
		if err != nil || p.Agent == "" || port != strconv.Itoa(p.Port) ||
			r.Header.Get("Sec-WebSocket-Protocol") != protocol {
			status(w, http.StatusBadRequest, fmt.Sprintf("cannot forward port %q", port))
			return
		}
		agent, err := net.Dial("tcp", server.Host)
		if err != nil {
			status(w, http.StatusInternalServerError, err.Error())
			return
		}
		defer agent.Close()
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
		if err != nil {
			return
		}
		exchange(r.Context(), conn, agent, p.Port)
		return
	}
	status(w, http.StatusNotFound, fmt.Sprintf("pods %q not found", name))
}

// exchange copies data in both directions until the client or the agent closes the connection.
func exchange(ctx context.Context, conn *websocket.Conn, agent net.Conn, port int) {
	for channel := range byte(2) {
		_ = conn.Write(ctx, websocket.MessageBinary, binary.LittleEndian.AppendUint16([]byte{channel}, uint16(port)))
	}
	var ended sync.WaitGroup
	ended.Go(func() { _ = conn.Ping(ctx) }) // like a real proxy, which can send a ping at any time
	ended.Go(func() {
		defer conn.CloseNow()
		part := make([]byte, 70_000)
		for {
			n, err := agent.Read(part)
			if n > 0 && conn.Write(ctx, websocket.MessageBinary, append([]byte{0}, part[:n]...)) != nil || err != nil {
				return
			}
		}
	})
	ended.Go(func() {
		defer agent.Close()
		for {
			_, content, err := conn.Read(ctx)
			if err != nil {
				return
			}
			if len(content) == 0 {
				continue
			}
			if _, err := agent.Write(content[1:]); err != nil {
				return
			}
		}
	})
	ended.Wait()
}
