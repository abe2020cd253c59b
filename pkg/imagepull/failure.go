package imagepull

import (
	"cmp"
	"regexp"
	"strings"
)

// Failure is the reason why a pull failed. A Failure is always one of the constants below.
type Failure string

// Values of Failure. FailureNone means that the pull did not fail. FailureOther means that the error matches no
// row of failureTable.
const (
	FailureNone               Failure = ""
	FailureNotFound           Failure = "not_found"
	FailureUnauthorized       Failure = "unauthorized"
	FailureForbidden          Failure = "forbidden"
	FailureRateLimited        Failure = "rate_limited"
	FailureTimeout            Failure = "timeout"
	FailureDNS                Failure = "dns"
	FailureConnectionRefused  Failure = "connection_refused" // includes a missing route to the registry
	FailureTLS                Failure = "tls"
	FailureNoSpace            Failure = "no_space"
	FailureNoMatchingPlatform Failure = "no_matching_platform"
	FailureInvalidReference   Failure = "invalid_reference"
	FailureSignature          Failure = "signature"
	// FailureCancelled means that the node cancelled the pull or never started it. For example, the runtime stopped,
	// the runtime was not running, or the kubelet reached its own limit for pulls.
	FailureCancelled Failure = "cancelled"
	// FailureRegistryError means that the registry responded with an internal error, or closed the connection.
	FailureRegistryError Failure = "registry_error"
	FailureOther         Failure = "other"

	// FailureUnconfirmed means that only Events report the failure. The method Counted returns this value.
	FailureUnconfirmed Failure = "unconfirmed"
)

// Counted returns the reason of a failed pull for metrics and for the API's list of registries. Tenants can create
// Events, so Events alone do not prove that a registry failed.
func (f Failure) Counted(unconfirmed bool) Failure {
	if unconfirmed {
		return FailureUnconfirmed
	}
	return cmp.Or(f, FailureOther)
}

// failureTable lists the words that identify a failure, in lower case. The first matching row wins, so specific
// reasons come before general reasons. An ellipsis (…) matches any text. The words come from these sources:
//   - containerd 1.6 to 2.4 (core/remotes/docker, core/images) and CRI-O (containers/image)
//   - the Go packages net, crypto/tls and net/http
//   - the error codes of the OCI distribution specification
//   - the kubelet (pkg/kubelet/images)
//
// The errors of the kubelet's own connection to the runtime (gRPC over a Unix socket) come first. These errors resemble
// the errors of a registry that closes the connection.
//
// The words "context canceled" can mean two different failures:
//   - The runtime responds that a pull was canceled. The failure is FailureTimeout, because containerd and CRI-O cancel
//     a pull that makes no progress (image_pull_progress_timeout). The response has no other
//     possible cause: if the kubelet has stopped waiting, or if the runtime is stopping, the kubelet does not receive
//     the response.
//   - The kubelet cancels a pull. The failure is FailureCancelled. The error contains only the cancellation (gRPC,
//     status.FromContextError).
var failureTable = []struct {
	failure Failure
	words   []string
}{
	{FailureCancelled, []string{"error reading from server", "connection error: desc = ", "transport is closing",
		"closing transport due to",
		"dial unix ", "read unix ", "write unix ", "server is not initialized yet",
		"pull qps exceeded"}}, // the kubelet's limit registryPullQPS; the kubelet did not contact the registry
	{FailureNoSpace, []string{"no space left on device", "disk quota exceeded"}},
	{FailureSignature, []string{"signaturevalidationfailed", "signature was required", "signature validation failed",
		"invalid signature", "source image rejected"}},
	{FailureInvalidReference, []string{"invalid reference format", "invalidimagename", "couldn't parse image name",
		"failed to apply default image tag", "failed to parse reference", "repository name must be lowercase"}},
	{FailureNoMatchingPlatform,
		[]string{"no match for platform", "no matching manifest", "no image found in image index",
			"no image found in manifest list"}},
	{FailureRateLimited, []string{"429 too many requests", "toomanyrequests", "rate limit", "statuscode: 429"}},
	{FailureDNS, []string{"no such host", "server misbehaving", "dial tcp: lookup ",
		"temporary failure in name resolution", "name or service not known"}},
	{FailureConnectionRefused, []string{"connection refused", "no route to host", "network is unreachable"}},
	{FailureTLS, []string{"x509:", "tls: ", "certificate signed by unknown authority",
		"server gave http response to https client",
		"remote error: tls"}},
	{FailureForbidden, []string{"403 forbidden", "denied: ", "requested access to the resource is denied",
		"code = permissiondenied", "statuscode: 403"}},
	{FailureUnauthorized, []string{"401 unauthorized", "authorization failed", "unauthorized: ",
		"authentication required",
		"no basic auth credentials", "pull access denied", "code = unauthenticated", "statuscode: 401"}},
	{FailureTimeout, []string{"i/o timeout", "deadline exceeded", "timeout exceeded", "tls handshake timeout",
		"timeout awaiting",
		"while awaiting headers", "request canceled while waiting for connection", "408 request timeout",
		"504 gateway timeout",
		"connection timed out", "code = deadlineexceeded", "statuscode: 408", "statuscode: 504",
		" desc = …: context canceled"}},
	{FailureCancelled, []string{"context canceled", "code = canceled"}},
	{FailureNotFound, []string{"statuscode: 404"}},
	{FailureRegistryError, []string{"500 internal server error", "501 not implemented", "502 bad gateway",
		"503 service unavailable",
		"unexpected status", "unexpected http status", "statuscode: ", ": eof", "unexpected eof",
		"connection reset by peer", "broken pipe",
		"server closed", "stream error: stream id", "server sent goaway", "registryunavailable", "failed commit on ref",
		"unexpected commit digest", "unexpected media type"}},
	// If the token server itself failed, an earlier row matches.
	{FailureUnauthorized, []string{"failed to authorize"}},
	{FailureNotFound, []string{": not found", "404 not found", "manifest unknown", "name unknown", "code = notfound",
		"does not exist"}},
	// The runtime had begun to download a blob, or was about to begin.
	{FailureRegistryError, []string{"httpreadseeker"}},
}

// The regular expression "quoted" matches the quoted parts of an error, for example image references, URLs and media
// types. Quoted text can contain any words.
var quoted = regexp.MustCompile(`\\?"[^"]*"`)

// WithoutQuotes returns a text without its quoted parts, because users can choose the quoted text.
func WithoutQuotes(text string) string { return quoted.ReplaceAllString(text, "") }

// withoutNames returns a text without names, in lower case. withoutNames removes quoted text. withoutNames also removes
// references, hosts, addresses, digests, paths and URLs without quotes, because containerd does not quote every name.
// withoutNames keeps a colon after a name.
func withoutNames(text string) string {
	words := strings.Fields(strings.ToLower(quoted.ReplaceAllString(text, `""`)))
	for i, word := range words {
		if name := strings.Trim(word, `:,;()[]"`); isName(name) {
			words[i] = strings.Replace(word, name, "", 1)
		}
	}
	return strings.Join(words, " ")
}

// isName reports whether a word is a name, such as a host or a path, and not an ordinary word. A word that contains a
// slash, a colon, an at sign or a dot counts as a name.
func isName(word string) bool {
	switch word {
	case "i/o", "client.timeout": // words from Go's error messages
		return false
	}
	return strings.ContainsAny(word, "/:@.")
}

// ClassifyFailure derives the reason from the text of the kubelet's Event or of the runtime's error.
func ClassifyFailure(text string) Failure {
	text = withoutNames(text)
	for _, row := range failureTable {
		for _, words := range row.words {
			if containsWords(text, words) {
				return row.failure
			}
		}
	}
	return FailureOther
}

// containsWords reports whether the text contains the words. If the words contain an ellipsis (…), the part after the
// ellipsis must come later in the text than the part before it.
func containsWords(text, words string) bool {
	first, then, gap := strings.Cut(words, "…")
	_, rest, found := strings.Cut(text, first)
	return found && (!gap || strings.Contains(rest, then))
}
