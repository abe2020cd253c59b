package probe

import (
	"net"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// startDNSServer starts a DNS server over UDP. The server responds at once for the name "well", after 100 ms for
// "slow", and never for "silent". It reports every other name as not found.
func startDNSServer(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			response := dnsmessage.Message{
				Header:    dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true},
				Questions: m.Questions}
			switch name := q.Name.String(); name {
			case "silent.test.":
				continue
			case "well.test.", "slow.test.":
				if name == "slow.test." {
					time.Sleep(100 * time.Millisecond)
				}
				if q.Type == dnsmessage.TypeA {
					response.Answers = []dnsmessage.Resource{{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
						Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
					}}
				}
			default:
				response.RCode = dnsmessage.RCodeNameError
			}
			if packed, err := response.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return conn.LocalAddr().String()
}

func TestDNS(t *testing.T) {
	server := startDNSServer(t)
	by := func(p *Probe) { p.Server = server }
	expect(t, "well", try(t, made(KindDNS, "well.test.", by)), ResultOK, "dns=ok")
	slow := try(t, made(KindDNS, "slow.test.", by))
	expect(t, "slow", slow, ResultOK, "dns=ok")
	if slow.Stages[0].Length < 90*time.Millisecond {
		t.Errorf("slow took %+v", slow)
	}
	expect(t, "none of the name", try(t, made(KindDNS, "absent.test.", by)), ResultDNSError, "dns=dns_error")
	expect(t, "no word", try(t, made(KindDNS, "silent.test.", by)), ResultTimeout, "dns=timeout")
	expect(t, "by the machine's own", try(t, made(KindDNS, "localhost", nil)), ResultOK, "dns=ok")
}
