package scenario

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/podlapse/podlapse/lab/internal/layout"
)

// nameServer is a DNS server on UDP. nameServer responds immediately for well.lab, late for slow.lab, and never for
// silent.lab. For any other name, nameServer responds that the name does not exist.
type nameServer struct {
	address string
	stop    func()
}

func serveNames(late time.Duration) (*nameServer, error) {
	conn, err := net.ListenPacket("udp", layout.Address(0))
	if err != nil {
		return nil, fmt.Errorf("start the DNS server: %w", err)
	}
	var responding sync.WaitGroup
	responding.Go(func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return // the connection is closed
			}
			var question dnsmessage.Message
			if question.Unpack(buffer[:n]) != nil || len(question.Questions) != 1 {
				continue
			}
			responding.Go(func() { responseName(conn, from, question, late) })
		}
	})
	return &nameServer{conn.LocalAddr().String(), func() { _ = conn.Close(); responding.Wait() }}, nil
}

func responseName(conn net.PacketConn, to net.Addr, question dnsmessage.Message, late time.Duration) {
	q := question.Questions[0]
	response := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: question.ID, Response: true, RecursionAvailable: true},
		Questions: question.Questions,
	}
	switch q.Name.String() {
	case "silent.lab.":
		return
	case "slow.lab.":
		time.Sleep(late)
		fallthrough
	case "well.lab.":
		if q.Type == dnsmessage.TypeA {
			response.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		}
	default:
		response.RCode = dnsmessage.RCodeNameError
	}
	if packed, err := response.Pack(); err == nil {
		_, _ = conn.WriteTo(packed, to) // the client might have closed its socket
	}
}

// probeTargets contains the addresses of four HTTP servers, and an address without a listener. The server "slow"
// forwards each request to the lab's registry after a delay. The server "silent" never responds. The server "refuses"
// responds to registry requests with status 403. The server "flavored" requires a header. No process listens at the
// address "dead".
type probeTargets struct {
	slow, silent, refuses, flavored, dead string
	stop                                  func()
}

func serveTargets(registry string, late time.Duration) (*probeTargets, error) {
	ctx, cancel := context.WithCancel(context.Background())
	ahead := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: registry})
	var servers []*http.Server
	stop := func() {
		cancel()
		for _, server := range servers {
			_ = server.Close()
		}
	}
	serve := func(handle http.HandlerFunc) (string, error) {
		listener, err := net.Listen("tcp", layout.Address(0))
		if err != nil {
			return "", fmt.Errorf("serve targets of probes: %w", err)
		}
		server := &http.Server{Handler: handle, ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, server)
		go func() { _ = server.Serve(listener) }() // this goroutine ends when stop is called
		return listener.Addr().String(), nil
	}
	t := &probeTargets{stop: stop}
	var err error
	for _, target := range []struct {
		address *string
		handle  http.HandlerFunc
	}{
		{&t.slow, func(w http.ResponseWriter, r *http.Request) { time.Sleep(late); ahead.ServeHTTP(w, r) }},
		{&t.silent, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-ctx.Done():
			}
		}},
		{&t.refuses, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/v2") {
				w.WriteHeader(http.StatusForbidden)
			}
		}},
		// this target behaves like a cloud's metadata server
		{&t.flavored, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Metadata-Flavor") != probeFlavor {
				w.WriteHeader(http.StatusForbidden)
			}
		}},
	} {
		if *target.address, err = serve(target.handle); err != nil {
			stop()
			return nil, err
		}
	}
	if t.dead, err = unusedAddress(); err != nil {
		stop()
		return nil, err
	}
	return t, nil
}
