package kubeclient

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// maxBuffered is how much of one response the API server may send ahead of its reader, in bytes.
// With Go's default of 4 MiB, the watches that may be open at once would hold 132 MiB while
// observations wait to be read.
const maxBuffered = 256 << 10

// boundBuffers configures the transport inside next before its first request, and returns next.
func boundBuffers(next http.RoundTripper) http.RoundTripper {
	inner := next
	for {
		wrapper, ok := inner.(utilnet.RoundTripperWrapper)
		if !ok {
			break
		}
		inner = wrapper.WrappedRoundTripper()
	}
	// Clients of one configuration share their transport. Only the first one configures it.
	if transport, ok := inner.(*http.Transport); ok && transport != http.DefaultTransport && transport.HTTP2 == nil {
		transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: maxBuffered}
	}
	return next
}
