package kubeclient

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// maxBuffered is the maximum number of unread bytes of one response. If a response has maxBuffered unread bytes, the
// API server stops sending until the agent reads. Go's default limit is 4 MiB for each response. With this default, all
// open watches together could hold 132 MiB.
const maxBuffered = 256 << 10

// boundBuffers finds the HTTP transport inside a RoundTripper. Before the first request, boundBuffers limits the
// transport's receive buffer for each response to maxBuffered. boundBuffers returns the given RoundTripper.
func boundBuffers(next http.RoundTripper) http.RoundTripper {
	inner := next
	for {
		wrapper, ok := inner.(utilnet.RoundTripperWrapper)
		if !ok {
			break
		}
		inner = wrapper.WrappedRoundTripper()
	}
	// Clients of one configuration share one transport. Only the first client configures the transport.
	if transport, ok := inner.(*http.Transport); ok && transport != http.DefaultTransport && transport.HTTP2 == nil {
		transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: maxBuffered}
	}
	return next
}
