// Package redact takes credentials out of texts that others wrote: messages of kubelet and the runtime, image
// references, URLs. It is pure. Sources call it on each text before they hand it on, and the reader of recordings
// calls it on what an older agent wrote, so that no output has to.
package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// Marker stands where something was that can be a credential.
const Marker = "REDACTED"

const (
	// maxText bounds what is searched of a text, in bytes: searching one of 4 KiB takes up to 8 ms, and an Event's
	// message can be as long as an object. No output has more than the first and the last KiB of one.
	maxText = 4 << 10
	// leastSecret is the shortest word after Bearer that is taken for a token, in bytes.
	leastSecret = 8
)

// combined is what client-go puts before the text of an Event that stands for several similar ones (tools/record).
const combined = "(combined from similar events): "

// quoting are the reasons of Events in which kubelet repeats what a container said, or the command that it was given.
var quoting = []string{"Unhealthy", "ProbeWarning", "FailedPostStartHook", "FailedPreStopHook"}

// Message is the message of an Event without credentials, and without what a container said.
func Message(reason, message string) string {
	if !slices.Contains(quoting, reason) {
		return Text(message)
	}
	said, isCombined := strings.CutPrefix(message, combined)
	at := strings.IndexAny(said, ":(")
	if at < 0 {
		return Text(message)
	}
	said = said[:at+1] + " …"
	if isCombined {
		return combined + said
	}
	return said
}

// The keys of values that are secrets. Keys are matched whole or as the last part of a longer one, such as
// X-Amz-Signature.
const keys = `(?:[a-z0-9_.-]*[_.-])?(?:pass(?:word|wd|phrase)|pwd|secret|client_?secret|` +
	`(?:access|refresh|id|auth|api|session)?_?token|sig|signature|credentials?|auth|authorization|` +
	`api[_-]?key|access[_-]?key(?:[_-]?id)?|accesskeyid|awsaccesskeyid|secret[_-]?access[_-]?key|` +
	`private[_-]?key|googleaccessid)`

var (
	// assigned is key=value, as in queries, options of mounts and environments.
	assigned = regexp.MustCompile(`(?i)(^|[^a-z0-9_.-])(--?)?(` + keys + `=)` +
		`("[^"]*"|'[^']*'|\\"[^"\\]*\\"|[^\s"'\\&;,)\]]*[^\s"'\\&;,)\]:.])`)
	// option is --key value, as in command lines.
	option = regexp.MustCompile(`(?i)(--?` + keys + `\s+)([^\s"',-][^\s"',]*)`)
	// member is "key":"value", as in JSON, and the same within a quoted text.
	member = regexp.MustCompile(`(?i)(\\?"` + keys + `\\?"\s*:\s*\\?")([^"\\]+)`)
	// header is a field of HTTP that shows who asks.
	header = regexp.MustCompile(`(?i)((?:proxy-)?authorization|` +
		`x-(?:auth|vault|amz-security|registry|gitlab|api)-?(?:token|auth|key)|(?:set-)?cookie)(` +
		`\\?"?\s*:\s*\[?\\?"?)` +
		`((?:basic|bearer|digest|negotiate|token)\s+)?([^\s"'\\,\]]+)`)
	// bearer and basic are credentials of RFC 9110 outside of a header; what follows the word decides.
	scheme = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)([a-z0-9._~+/-]+=*)`)
	// known are tokens that are known by how they begin: JSON web tokens, GitHub's, GitLab's, Slack's, npm's and Docker
	// Hub's.
	known = regexp.MustCompile(`\b(?:eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){1,4}|gh[pousr]_[A-Za-z0-9]{16,}|` +
		`github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}|dckr_[a-z]+_[A-Za-z0-9_-]{16,})`)
	// address is the part of a URL after its scheme.
	address    = regexp.MustCompile(`//[^\s"'<>\\]+`)
	privateKey = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

// rules are applied in this order. Most texts have no hint, and are not searched.
var rules = []struct {
	hints  []string // one of them is in every text with something to take out, in lower case
	redact func(string) string
}{
	{[]string{"private key-----"}, replacing(privateKey, Marker)},
	{[]string{"//"}, func(text string) string { return address.ReplaceAllStringFunc(text, withoutUser) }},
	{[]string{"authorization", "cookie", "x-"}, replacing(header, "${1}${2}${3}"+Marker)},
	{[]string{"bearer", "basic"}, func(text string) string { return scheme.ReplaceAllStringFunc(text, withoutToken) }},
	{[]string{`":`, `" :`}, replacing(member, "${1}"+Marker)},
	{[]string{"="}, replacing(assigned, "${1}${2}${3}"+Marker)},
	{[]string{"-"}, replacing(option, "${1}"+Marker)},
	{[]string{"eyj", "gh", "glpat-", "xox", "npm_", "dckr_"}, replacing(known, Marker)},
}

func replacing(pattern *regexp.Regexp, by string) func(string) string {
	return func(text string) string { return pattern.ReplaceAllString(text, by) }
}

// Text is a text without credentials: user and query of a URL, values of keys that are known for secrets, tokens. The
// words around them stay as they are. What is longer than any output loses its middle.
func Text(text string) string {
	text = bounded(text)
	lower := strings.ToLower(text)
	for _, rule := range rules {
		if slices.ContainsFunc(rule.hints, func(hint string) bool {
			return strings.Contains(lower, hint)
		}) {
			text = rule.redact(text)
		}
	}
	return text
}

// bounded leaves the middle out of what is too long, and the words at the cut: half a secret would not be known for
// one.
func bounded(text string) string {
	if len(text) <= maxText {
		return text
	}
	head, tail := text[:maxText/2], text[len(text)-maxText/2:]
	head = head[:max(0, strings.LastIndexAny(head, " \n\t"))]
	for range 2 { // the second may be what a first one such as Bearer is about
		_, rest, found := strings.Cut(tail, " ")
		if !found {
			return head + " …"
		}
		tail = rest
	}
	return head + " … " + tail
}

// withoutUser is an address without user and query. A password may hold characters that end an address by the standard.
func withoutUser(address string) string {
	ends := strings.TrimRight(address, ".,:;!)]}")
	address, punctuation := ends, address[len(ends):]
	host := strings.TrimPrefix(address, "//")
	before, query, hasQuery := strings.Cut(host, "?")
	authority, _, _ := strings.Cut(before, "/")
	at := strings.LastIndex(authority, "@")
	if at < 0 && isUser(authority) {
		if at = strings.LastIndex(before, "@"); at < 0 && hasQuery {
			if at = strings.LastIndex(host, "@"); at >= 0 {
				before, query, hasQuery = strings.Cut(host[at:], "?")
				host, at = before, 0
			}
		}
	}
	if at >= 0 {
		before = Marker + before[at:]
	}
	if hasQuery && query != "" {
		before += "?" + Marker
	} else if hasQuery {
		before += "?"
	}
	return "//" + before + punctuation
}

// isUser says that what comes before the first slash is no host: what follows its colon is no port.
func isUser(authority string) bool {
	_, port, found := strings.Cut(authority, ":")
	return found && !strings.HasPrefix(authority, "[") && strings.Trim(port, "0123456789") != ""
}

// words are what texts have after Bearer and Basic that is no token.
var words = []string{"authentication", "authorization", "credentials", "challenge", "realm=", "scheme", "token",
	"tokens"}

func withoutToken(found string) string {
	parts := scheme.FindStringSubmatch(found)
	token := parts[3]
	switch {
	case slices.Contains(words, strings.ToLower(token)):
		return found
	case strings.EqualFold(parts[1], "basic"):
		if !isPair(token) {
			return found
		}
	case len(token) < leastSecret:
		return found
	}
	return parts[1] + parts[2] + Marker
}

// isPair says that a text is USER:PASSWORD in base 64.
func isPair(text string) bool {
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return err == nil && strings.Contains(string(decoded), ":")
}
