package imagepull

import (
	"regexp"
	"slices"
	"strings"
)

// Failure says why a pull failed; the set is closed.
type Failure string

// The failures. FailureNone is of a pull that did not fail, FailureOther of a text that no row knows.
const (
	FailureNone               Failure = ""
	FailureNotFound           Failure = "not_found"
	FailureUnauthorized       Failure = "unauthorized"
	FailureForbidden          Failure = "forbidden"
	FailureRateLimited        Failure = "rate_limited"
	FailureTimeout            Failure = "timeout"
	FailureDNS                Failure = "dns"
	FailureConnectionRefused  Failure = "connection_refused" // or there was no way to it
	FailureTLS                Failure = "tls"
	FailureNoSpace            Failure = "no_space"
	FailureNoMatchingPlatform Failure = "no_matching_platform"
	FailureInvalidReference   Failure = "invalid_reference"
	FailureSignature          Failure = "signature"
	FailureCancelled          Failure = "cancelled"      // the node broke it off: the runtime ended, or was not there
	FailureRegistryError      Failure = "registry_error" // it answered with a fault of its own, or broke off
	FailureOther              Failure = "other"
)

// failureTable is the words by which a failure is known, in lower case; of several rows that match the first
// counts, so what says why comes before what merely says that. The words are those of containerd 1.6 to 2.4
// (core/remotes/docker, core/images), CRI-O (containers/image), Go's net, crypto/tls and net/http, the codes of
// the distribution specification, and kubelet (pkg/kubelet/images). What kubelet's own connection to the runtime says (gRPC over
// a Unix socket) comes first: a runtime that dies amid a pull breaks off as a registry would, and is none.
var failureTable = []struct {
	failure Failure
	words   []string
}{
	{FailureCancelled, []string{"error reading from server", "connection error: desc = ", "transport is closing", "closing transport due to",
		"dial unix ", "read unix ", "write unix ", "server is not initialized yet"}},
	{FailureNoSpace, []string{"no space left on device", "disk quota exceeded"}},
	{FailureSignature, []string{"signaturevalidationfailed", "signature was required", "signature validation failed",
		"invalid signature", "source image rejected"}},
	{FailureInvalidReference, []string{"invalid reference format", "invalidimagename", "couldn't parse image name",
		"failed to apply default image tag", "failed to parse reference", "repository name must be lowercase"}},
	{FailureNoMatchingPlatform, []string{"no match for platform", "no matching manifest", "no image found in image index",
		"no image found in manifest list"}},
	{FailureRateLimited, []string{"429 too many requests", "toomanyrequests", "rate limit", "pull qps exceeded"}},
	{FailureDNS, []string{"no such host", "server misbehaving", "dial tcp: lookup ", "temporary failure in name resolution", "name or service not known"}},
	{FailureConnectionRefused, []string{"connection refused", "no route to host", "network is unreachable"}},
	{FailureTLS, []string{"x509:", "tls: ", "certificate signed by unknown authority", "server gave http response to https client",
		"remote error: tls"}},
	{FailureForbidden, []string{"403 forbidden", "denied: ", "requested access to the resource is denied",
		"code = permissiondenied"}},
	{FailureUnauthorized, []string{"401 unauthorized", "authorization failed", "unauthorized: ", "authentication required",
		"no basic auth credentials", "pull access denied", "code = unauthenticated"}},
	{FailureTimeout, []string{"i/o timeout", "deadline exceeded", "timeout exceeded", "tls handshake timeout", "timeout awaiting",
		"request canceled while waiting for connection", "504 gateway timeout", "connection timed out", "code = deadlineexceeded"}},
	{FailureCancelled, []string{"context canceled", "code = canceled"}},
	{FailureRegistryError, []string{"500 internal server error", "501 not implemented", "502 bad gateway", "503 service unavailable",
		"unexpected status", "unexpected http status", ": eof", "unexpected eof", "connection reset by peer", "broken pipe", "server closed",
		"registryunavailable", "failed commit on ref", "unexpected commit digest", "httpreadseeker"}},
	{FailureUnauthorized, []string{"failed to authorize"}}, // and nothing says that the token server was at fault
	{FailureNotFound, []string{": not found", "404 not found", "manifest unknown", "name unknown", "code = notfound", "does not exist"}},
}

// Failures lists every reason that a failed pull can have.
func Failures() []Failure {
	failures := make([]Failure, 0, len(failureTable)+1)
	for _, row := range failureTable {
		if !slices.Contains(failures, row.failure) {
			failures = append(failures, row.failure)
		}
	}
	return append(failures, FailureOther)
}

// quoted is what an error quotes: image references, URLs and media types, whose makers are free in their words.
var quoted = regexp.MustCompile(`\\?"[^"]*"`)

// ClassifyFailure finds out why from the text of kubelet's Event or of the runtime's error.
func ClassifyFailure(text string) Failure {
	text = strings.ToLower(quoted.ReplaceAllString(text, `""`))
	for _, row := range failureTable {
		for _, words := range row.words {
			if strings.Contains(text, words) {
				return row.failure
			}
		}
	}
	return FailureOther
}
