package imagepull

import "testing"

// failureTests are the cases of TestClassifyFailure.
var failureTests = []struct {
	text string
	want Failure
}{
	{`rpc error: code = NotFound desc = failed to pull and unpack image "r/x:1": failed to resolve reference ` +
		`"r/x:1": r/x:1: not found`, FailureNotFound},
	// CRI-O
	{`reading manifest 1 in r.example/x: manifest unknown`, FailureNotFound},
	{`failed to pull and unpack image "r/x:1": failed to resolve reference "r/x:1": unexpected status from HEAD ` +
		`request to http://r/v2/x/manifests/1: 401 Unauthorized`, FailureUnauthorized},
	{`failed to resolve reference "docker.io/x:1": pull access denied, repository does not exist or may require ` +
		`authorization: server message: insufficient_scope: authorization failed`, FailureUnauthorized},
	{`failed to authorize: failed to fetch anonymous token: unexpected status from GET request to ` +
		`https://r/token: 401 Unauthorized`, FailureUnauthorized},
	{`unexpected status from HEAD request to http://r/v2/x/manifests/1: 403 Forbidden`, FailureForbidden},
	{`failed to copy: httpReadSeeker: failed open: unexpected status code https://r/v2/x/blobs/sha256:0: 429 Too ` +
		`Many Requests - Server message: toomanyrequests: You have reached your pull rate limit`,
		FailureRateLimited},
	{`failed to authorize: failed to fetch oauth token: Post "https://auth.example/token": net/http: TLS ` +
		`handshake timeout`, FailureTimeout},
	{`failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://a: 503 ` +
		`Service Unavailable`, FailureRegistryError},
	{`failed to authorize: failed to fetch anonymous token: Get "https://auth.example/token": EOF`,
		FailureRegistryError},
	{`failed to authorize: rpc error`, FailureUnauthorized},
	{`failed to do request: Head "https://r/v2/": dial tcp 10.9.9.9:443: connect: connection timed out`,
		FailureTimeout},
	{`pull QPS exceeded`, FailureCancelled}, // from the kubelet
	{`failed to do request: Head "https://nosuch.example/v2/x/manifests/1": dial tcp: lookup nosuch.example on ` +
		`10.0.0.10:53: no such host`, FailureDNS},
	{`failed to do request: Head "https://r.example/v2/x/manifests/1": dial tcp: lookup r.example on ` +
		`10.0.0.10:53: read udp 10.1.1.1:1->10.0.0.10:53: i/o timeout`, FailureDNS},
	{`failed to do request: Head "http://127.0.0.1:1/v2/x/manifests/1": dial tcp 127.0.0.1:1: connect: ` +
		`connection refused`, FailureConnectionRefused},
	{`failed to do request: Head "https://r/v2/": tls: failed to verify certificate: x509: certificate signed by ` +
		`unknown authority`, FailureTLS},
	{`failed to do request: Head "https://r/v2/": http: server gave HTTP response to HTTPS client`, FailureTLS},
	{`failed to do request: Head "https://r/v2/": net/http: TLS handshake timeout`, FailureTimeout},
	{`rpc error: code = DeadlineExceeded desc = context deadline exceeded`, FailureTimeout},
	{`failed to do request: Head "https://r/v2/": dial tcp 10.9.9.9:443: i/o timeout`, FailureTimeout},
	{`failed to extract layer sha256:0: write /var/lib/x: no space left on device`, FailureNoSpace},
	{`no match for platform in manifest: not found`, FailureNoMatchingPlatform},
	{`choosing image instance: no image found in image index for architecture amd64`, FailureNoMatchingPlatform},
	{`couldn't parse image name "X:1": invalid reference format: repository name must be lowercase`,
		FailureInvalidReference},
	{`SignatureValidationFailed: image pull failed for r/x:1 because the signature validation failed`,
		FailureSignature},
	// The kubelet's client cancelled the request.
	{`rpc error: code = Canceled desc = context canceled`, FailureCancelled},
	// The pull made no progress within image_pull_progress_timeout.
	{`rpc error: code = Canceled desc = failed to pull and unpack image "r/x:1": context canceled`, FailureTimeout},
	{`rpc error: code = Canceled desc = failed to pull and unpack image "r/x:1": failed to copy: httpReadSeeker: ` +
		`failed open: failed to do request: Get "https://r/v2/": context canceled`, FailureTimeout},
	{`unexpected status from HEAD request to http://r/v2/x/manifests/1: 500 Internal Server Error`,
		FailureRegistryError},
	{`failed to copy: httpReadSeeker: failed open: server closed idle connection`, FailureRegistryError},
	{`failed to copy: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer`, FailureRegistryError},
	// The kubelet's connection to the runtime broke.
	{`rpc error: code = Unavailable desc = error reading from server: EOF`, FailureCancelled},
	{`rpc error: code = Unavailable desc = error reading from server: read unix ` +
		`@->/run/containerd/containerd.sock: read: connection reset by peer`, FailureCancelled},
	{`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix ` +
		`/run/containerd/containerd.sock: connect: connection refused"`, FailureCancelled},
	{`rpc error: code = Unavailable desc = closing transport due to: connection error: desc = "error reading ` +
		`from server: EOF", received prior goaway: code: NO_ERROR`, FailureCancelled},
	{`rpc error: code = Unavailable desc = transport is closing`, FailureCancelled},
	{`dial unix /run/containerd/containerd.sock: connect: connection refused`, FailureCancelled},
	{`write unix @->/run/containerd/containerd.sock: write: broken pipe`, FailureCancelled},
	{`rpc error: code = Unknown desc = server is not initialized yet`, FailureCancelled},
	{`failed to do request: Head "https://r/": dial tcp 10.1.1.1:443: connect: no route to host`,
		FailureConnectionRefused},
	{`failed to do request: Head "https://r/": dial tcp 10.1.1.1:443: connect: network is unreachable`,
		FailureConnectionRefused},
	{`dial tcp: lookup r.example: dial udp 10.0.0.10:53: connect: network is unreachable`, FailureDNS},
	// CRI-O
	{`reading manifest latest in docker.io/library/x: requested access to the resource is denied`,
		FailureForbidden},
	// Quoted text is ignored.
	{`"no such host" "no space left on device": something else`, FailureOther},
	// A registry reset an HTTP/2 stream.
	{`failed to copy: stream error: stream ID 5; INTERNAL_ERROR; received from peer`, FailureRegistryError},
	{`failed to do request: Get "https://r/v2/": http2: server sent GOAWAY and closed the connection; ` +
		`LastStreamID=1, ErrCode=NO_ERROR, debug=""`, FailureRegistryError},
	{`failed to do request: Head "https://r/v2/": http2: timeout awaiting response headers`, FailureTimeout},
	{`failed to do request: Head "https://r/v2/": net/http: request canceled (Client.Timeout exceeded while ` +
		`awaiting headers)`, FailureTimeout},
	{`unexpected status from HEAD request to https://r/v2/x/manifests/1: 408 Request Timeout`, FailureTimeout},
	{`unexpected status from HEAD request to https://r/v2/x/manifests/1: 504 Gateway Timeout`, FailureTimeout},
	{`failed to copy: httpReadSeeker: failed open: content at https://r/v2/x/blobs/sha256:aa not found: not found`,
		FailureNotFound},
	{`failed to copy: httpReadSeeker: failed open: failed to do request: Get "https://r/v2/": bad record`,
		FailureRegistryError},
	{`unexpected media type text/html for sha256:aa: not found`, FailureRegistryError},
	// CRI-O.
	{`initializing source docker://r.example/x:1: reading manifest 1 in r.example/x: StatusCode: 404, "<html>..."`,
		FailureNotFound},
	{`initializing source docker://r.example/x:1: reading manifest 1 in r.example/x: StatusCode: 401, "x"`,
		FailureUnauthorized},
	{`initializing source docker://r.example/x:1: reading manifest 1 in r.example/x: StatusCode: 403, "x"`,
		FailureForbidden},
	{`initializing source docker://r.example/x:1: reading manifest 1 in r.example/x: StatusCode: 429, "x"`,
		FailureRateLimited},
	{`initializing source docker://r.example/x:1: reading manifest 1 in r.example/x: StatusCode: 504, "x"`,
		FailureTimeout},
	{`initializing source docker://r.example/x:1: reading manifest 1 in r.example/x: StatusCode: 502, "x"`,
		FailureRegistryError},
	{`initializing source docker://x509.example/x:1: pinging container registry x509.example: Get ` +
		`"https://x/v2/": EOF`, FailureRegistryError},
	{`initializing source docker://r.example/x:1: reading manifest denied in r.example/x: manifest unknown`,
		FailureNotFound},
	{`pinging container registry toomanyrequests.example: Get "https://x/v2/": dial tcp: lookup x.example: no ` +
		`such host`, FailureDNS},
	{`failed to do request: Head "https://r/": proxyconnect tcp: dial tcp 10.0.0.1:3128: connect: connection ` +
		`refused`, FailureConnectionRefused},
	{"", FailureOther},
}

func TestClassifyFailure(t *testing.T) {
	// The messages come from containerd 2.4, unless a comment names another runtime.
	for _, test := range failureTests {
		if got := ClassifyFailure(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", test.text, got, test.want)
		}
	}
}

// TestClassifyFailureIgnoresNames uses references that contain words of failures. containerd repeats references
// without quotes.
func TestClassifyFailureIgnoresNames(t *testing.T) {
	for _, ref := range []string{"r.example/tools/x509:1", "r.example/x:eof", "r.example/x:denied",
		"r.example/toomanyrequests:1", "x509:5000/a:1",
		"toomanyrequests.example/x:1", "tls:443/unauthorized:denied", "r.example/registryunavailable@sha256:aa"} {
		begins := `Failed to pull image "` + ref +
			`": rpc error: code = Unknown desc = failed to pull and unpack image "` + ref +
			`": failed to resolve reference "` + ref + `": `
		for ends, want := range map[string]Failure{
			ref + ": not found": FailureNotFound,
			"unexpected status from HEAD request to https://" + ref +
				": 500 Internal Server Error": FailureRegistryError,
			"failed to copy: httpReadSeeker: failed open: unexpected status code https://" + ref +
				"/blobs: 403 Forbidden": FailureForbidden,
			"failed to extract layer (" + ref + "): mount /var/lib/x509:1/" + ref +
				": input/output error": FailureOther,
		} {
			if got := ParseMessage("Failed", begins+ends).Failure; got != want {
				t.Errorf("%s%s: %q, want %q", begins, ends, got, want)
			}
		}
	}
}
