package web

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// crowd opens one connection for each of many clients. The function "ask" uses each connection once, and the connection
// stays open.
func crowd(t *testing.T, server string, clients int, ask func(net.Conn)) {
	t.Helper()
	for i := range clients {
		conn := connectFrom(t, fmt.Sprintf("127.1.%d.%d", i/200, i%200+1), server)
		if ask != nil {
			ask(conn)
		}
	}
}

// TestManyClientsBlockNeitherProbesNorScraper opens one connection for each client. The number of clients is larger
// than the maximum number of connections.
func TestManyClientsBlockNeitherProbesNorScraper(t *testing.T) {
	for name, ask := range map[string]func(*testing.T) func(net.Conn){
		"that send nothing": func(*testing.T) func(net.Conn) { return nil },
		"with endless headers": func(*testing.T) func(net.Conn) {
			return func(conn net.Conn) { _, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: ") }
		},
		"that keep idle connections": func(t *testing.T) func(net.Conn) {
			return func(conn net.Conn) { _, _, _ = say(t, conn, "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := startServer(t, (&fake{}).config())
			crowd(t, address, maxConnections+20, ask(t))
			for range 3 { // the kubelet restarts a container after three failed probes
				alive(t, "127.0.0.1", address)
				scrape(t, "127.0.0.9", address, "/metrics")
			}
		})
	}
}

// Each client requests a response and does not read the response, so the client's connection is not idle.
func TestManySlowReadersBlockNoClients(t *testing.T) {
	config := (&fake{}).config()
	config.Gatherer = manyMetrics()
	address := startServer(t, config)
	scrape(t, "127.0.0.9", address, "/metrics") // before the crowd
	for i := range maxConnections + 5 {
		stall(t, fmt.Sprintf("127.1.%d.%d", i/200, i%200+1), address, "/metrics")
	}
	quiet(t)
	for range 3 {
		alive(t, "127.0.0.1", address)
		scrape(t, "127.0.0.9", address, "/metrics")
	}
}

// TestManyReconnectingClients opens connections as fast as possible, from 250 addresses, while a scraper and the
// kubelet send requests.
func TestManyReconnectingClients(t *testing.T) {
	address := startServer(t, (&fake{}).config())
	scrape(t, "127.0.0.9", address, "/metrics") // before the crowd
	stop, ended := make(chan struct{}), make(chan int)
	go func() {
		opened := 0
		defer func() { ended <- opened }()
		var held []net.Conn
		defer func() {
			for _, conn := range held {
				_ = conn.Close()
			}
		}()
		for {
			select {
			case <-stop:
				return
			default:
			}
			local := &net.TCPAddr{IP: net.IPv4(127, 2, 0, byte(opened%250+1))}
			conn, err := (&net.Dialer{LocalAddr: local, Timeout: time.Second}).Dial("tcp", address)
			if err != nil {
				continue
			}
			if held = append(held, conn); len(held) > 2*maxConnections {
				_ = held[0].Close()
				held = held[1:]
			}
			opened++
		}
	}()
	for range 5 {
		alive(t, "127.0.0.1", address)
		scrape(t, "127.0.0.9", address, "/metrics")
		time.Sleep(time.Second / takeRate)
	}
	close(stop)
	opened := <-ended
	t.Logf("the crowd opened %d connections", opened)
	if opened < maxConnections {
		t.Errorf("only %d connections were opened", opened)
	}
}
