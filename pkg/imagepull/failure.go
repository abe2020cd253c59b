package imagepull

import (
	"regexp"
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
	// the node broke it off, or did not begin: the runtime ended, or was not there, or kubelet's
	// own limit was reached
	FailureCancelled     Failure = "cancelled"
	FailureRegistryError Failure = "registry_error" // it answered with a fault of its own, or broke off
	FailureOther         Failure = "other"

	// FailureUnconfirmed stands for every reason where a failure is counted that only Events tell of.
	FailureUnconfirmed Failure = "unconfirmed"
)

// failureTable is the words by which a failure is known, in lower case; of several rows that match the first
// counts, so what says why comes before what merely says that. An ellipsis stands for any text between. The words are those of
// containerd 1.6 to 2.4 (core/remotes/docker, core/images), CRI-O (containers/image), Go's net, crypto/tls and net/http, the codes of
// the distribution specification, and kubelet (pkg/kubelet/images). What kubelet's own connection to the runtime says (gRPC over
// a Unix socket) comes first: a runtime that dies amid a pull breaks off as a registry would, and is none.
//
// A pull that the runtime itself answers to have been canceled did not come on: containerd and
// CRI-O break one off for that (image_pull_progress_timeout), and nobody gets their answer when it
// is kubelet that no longer waits, or they that stop. Of its own canceling kubelet says nothing but
// that (gRPC, status.FromContextError).
var failureTable = []struct {
	failure Failure
	words   []string
}{
	{FailureCancelled, []string{"error reading from server", "connection error: desc = ", "transport is closing",
		"closing transport due to",
		"dial unix ", "read unix ", "write unix ", "server is not initialized yet",
		"pull qps exceeded"}}, // kubelet's registryPullQPS: the registry was not asked
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
	{FailureUnauthorized, []string{"failed to authorize"}}, // and nothing says that the token server was at fault
	{FailureNotFound, []string{": not found", "404 not found", "manifest unknown", "name unknown", "code = notfound",
		"does not exist"}},
	{FailureRegistryError, []string{"httpreadseeker"}}, // a blob that began to come, or was to
}

// quoted is what an error quotes: image references, URLs and media types, whose makers are free in their words.
var quoted = regexp.MustCompile(`\\?"[^"]*"`)

// WithoutQuotes is a text without what it quotes: names that users are free to choose.
func WithoutQuotes(text string) string { return quoted.ReplaceAllString(text, "") }

// spoken is what is left of a text without its names, in lower case: without what it quotes, and
// without references, hosts, addresses, digests, paths and URLs, which containerd also repeats
// without quotes. A colon after a name stays.
func spoken(text string) string {
	words := strings.Fields(strings.ToLower(quoted.ReplaceAllString(text, `""`)))
	for i, word := range words {
		if name := strings.Trim(word, `:,;()[]"`); isName(name) {
			words[i] = strings.Replace(word, name, "", 1)
		}
	}
	return strings.Join(words, " ")
}

// isName says that a word, without punctuation around it, is none of a language: it has some within.
func isName(word string) bool {
	switch word {
	case "i/o", "client.timeout": // as Go says
		return false
	}
	return strings.ContainsAny(word, "/:@.")
}

// ClassifyFailure finds out why from the text of kubelet's Event or of the runtime's error.
func ClassifyFailure(text string) Failure {
	text = spoken(text)
	for _, row := range failureTable {
		for _, words := range row.words {
			if says(text, words) {
				return row.failure
			}
		}
	}
	return FailureOther
}

// says looks for words in their order.
func says(text, words string) bool {
	first, then, gap := strings.Cut(words, "…")
	_, rest, found := strings.Cut(text, first)
	return found && (!gap || strings.Contains(rest, then))
}
