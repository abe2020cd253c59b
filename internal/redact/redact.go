// Package redact removes credentials from untrusted texts: messages of the kubelet and the runtime, image references,
// and URLs. The package does no I/O and reads no clock. A package that reads untrusted texts from the API server or the
// runtime redacts these texts before other packages receive them. Package recording redacts the texts in recordings of
// older agents. Therefore, code that prints or exports a text does not redact the text again.
package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// Marker replaces text that might be a credential.
const Marker = "REDACTED"

const (
	// maxText is the maximum length of the text that the function Text searches, in bytes. A limit is necessary because
	// searching 4 KiB takes up to 8 ms, and the message of an Event can be much longer than 4 KiB. Outputs show at most
	// the first KiB and the last KiB of a text, so they never need the removed middle.
	maxText = 4 << 10
	// leastSecret is the minimum length of a token in bytes. A shorter word after "Bearer" does not count as a token.
	leastSecret = 8
)

// combinedPrefix is the prefix that client-go (tools/record) adds to an Event that combines several similar Events.
const combinedPrefix = "(combined from similar events): "

// quoting lists Event reasons. If an Event has one of these reasons, its message can quote a command that the kubelet
// ran, or the output of a container.
var quoting = []string{"Unhealthy", "ProbeWarning", "FailedPostStartHook", "FailedPreStopHook"}

// Message removes credentials and container output from the message of an Event.
func Message(reason, message string) string {
	if !slices.Contains(quoting, reason) {
		return Text(message)
	}
	text, isCombined := strings.CutPrefix(message, combinedPrefix)
	at := strings.IndexAny(text, ":(")
	if at < 0 {
		return Text(message)
	}
	text = text[:at+1] + " …"
	if isCombined {
		return combinedPrefix + text
	}
	return text
}

// secretNames is a regular expression for the names of secret values. The expression matches a whole name, or the last
// part of a longer name such as X-Amz-Signature.
const secretNames = `(?:[a-z0-9_.-]*[_.-])?(?:pass(?:word|wd|phrase)|pwd|secret|client_?secret|` +
	`(?:access|refresh|id|auth|api|session)?_?token|sig|signature|credentials?|auth|authorization|` +
	`api[_-]?key|access[_-]?key(?:[_-]?id)?|accesskeyid|awsaccesskeyid|secret[_-]?access[_-]?key|` +
	`private[_-]?key|googleaccessid)`

var (
	// assignmentPattern matches key=value, as in queries, mount options and environment variables.
	assignmentPattern = regexp.MustCompile(`(?i)(^|[^a-z0-9_.-])(--?)?(` + secretNames + `=)` +
		`("[^"]*"|'[^']*'|\\"[^"\\]*\\"|[^\s"'\\&;,)\]]*[^\s"'\\&;,)\]:.])`)
	// optionPattern matches --key value, as in command lines.
	optionPattern = regexp.MustCompile(`(?i)(--?` + secretNames + `\s+)([^\s"',-][^\s"',]*)`)
	// memberPattern matches "key":"value" in JSON. The pattern also matches JSON in which each quote is escaped as \".
	memberPattern = regexp.MustCompile(`(?i)(\\?"` + secretNames + `\\?"\s*:\s*\\?")([^"\\]+)`)
	// headerPattern matches an HTTP header with credentials.
	headerPattern = regexp.MustCompile(`(?i)((?:proxy-)?authorization|` +
		`x-(?:auth|vault|amz-security|registry|gitlab|api)-?(?:token|auth|key)|(?:set-)?cookie)(` +
		`\\?"?\s*:\s*\[?\\?"?)` +
		`((?:basic|bearer|digest|negotiate|token)\s+)?([^\s"'\\,\]]+)`)
	// schemePattern matches bearer and basic credentials (RFC 9110) outside a header. withoutToken decides whether the
	// word after "bearer" or "basic" is a credential.
	schemePattern = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)([a-z0-9._~+/=-]+)`)
	// The pattern "known" matches tokens that begin with a known prefix: JSON Web Tokens, and tokens of GitHub, GitLab,
	// Slack, npm and Docker Hub.
	known = regexp.MustCompile(`\b(?:eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){1,4}|gh[pousr]_[A-Za-z0-9]{16,}|` +
		`github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|` +
		`npm_[A-Za-z0-9]{30,}|dckr_[a-z]+_[A-Za-z0-9_-]{16,})`)
	// addressPattern matches the part of a URL after its scheme.
	addressPattern = regexp.MustCompile(`//[^\s"'<>\\]+`)
	// digestPattern matches the digest at the end of an image reference.
	digestPattern = regexp.MustCompile(`^@sha(?:256|512):[0-9a-f]*$`)
	privateKey    = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE ` +
		`KEY-----|$)`)
)

// keyParts lists substrings. Every name that matches secretNames contains at least one of these substrings.
var keyParts = []string{"pass", "pwd", "secret", "token", "sig", "credential", "auth", "api", "access", "private"}

// rules lists the rules in the order in which Text applies them. Applying a rule is slow. If a text contains none of a
// rule's hints, Text skips the rule. Most texts are image names, and Text skips most rules for an image name. Many
// image names contain the hint "-", but few image names contain one of keyParts.
var rules = []struct {
	hints  []string // in lower case; the rule changes only texts that contain a hint, ignoring case
	keyed  bool     // true if the rule changes only texts that contain one of keyParts
	redact func(string) string
}{
	{[]string{"private key-----"}, false, replacing(privateKey, Marker)},
	{[]string{"//"}, false, func(text string) string { return addressPattern.ReplaceAllStringFunc(text, withoutUser) }},
	{[]string{"authorization", "cookie", "x-"}, false, replacing(headerPattern, "${1}${2}${3}"+Marker)},
	{[]string{"bearer", "basic"}, false, func(text string) string {
		return schemePattern.ReplaceAllStringFunc(text,
			withoutToken)
	}},
	{[]string{`":`, `" :`}, true, replacing(memberPattern, "${1}"+Marker)},
	{[]string{"="}, true, replacing(assignmentPattern, "${1}${2}${3}"+Marker)},
	{[]string{"-"}, true, replacing(optionPattern, "${1}"+Marker)},
	{[]string{"eyj", "gh", "glpat-", "xox", "npm_", "dckr_"}, false, replacing(known, Marker)},
}

func replacing(pattern *regexp.Regexp, by string) func(string) string {
	return func(text string) string { return pattern.ReplaceAllString(text, by) }
}

// Text removes credentials from a text: the user and the query of URLs, the values of secret keys, and tokens. Text
// keeps the words around the credentials. If a text is longer than maxText, Text removes its middle.
func Text(text string) string {
	text = shorten(text)
	// Regular expressions that ignore case also match the long s (U+017F) as an s.
	lower := strings.ReplaceAll(strings.ToLower(text), "\u017f", "s")
	contains := func(part string) bool { return strings.Contains(lower, part) }
	keyed := slices.ContainsFunc(keyParts, contains)
	for _, rule := range rules {
		if (keyed || !rule.keyed) && slices.ContainsFunc(rule.hints, contains) {
			text = rule.redact(text)
		}
	}
	return text
}

// shorten removes the middle of a long text. The cut can truncate a secret, and no rule recognizes a truncated secret.
// Therefore, shorten also removes the words next to the cut.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	head, tail := text[:maxText/2], text[len(text)-maxText/2:]
	head = head[:max(0, strings.LastIndexAny(head, " \n\t"))]
	for range 2 { // the first word can be a scheme such as Bearer, and the second word can be a token
		_, rest, found := strings.Cut(tail, " ")
		if !found {
			return head + " …"
		}
		tail = rest
	}
	return head + " … " + tail
}

// withoutUser removes the user and the query from an address. In a valid URL, the characters @, / and ? in a password
// are escaped. In practice, some passwords contain @, / or ? unescaped. Therefore, withoutUser assumes that the last @
// of the address ends the user.
func withoutUser(address string) string {
	ends := strings.TrimRight(address, ".,:;!)]}")
	host, punctuation := strings.TrimPrefix(ends, "//"), address[len(ends):]
	user := ""
	if at := userEnd(host); at >= 0 {
		user, host = Marker, host[at:]
	}
	path, query, hasQuery := strings.Cut(host, "?")
	if query != "" {
		query = Marker
	}
	if hasQuery {
		query = "?" + query
	}
	return "//" + user + path + query + punctuation
}

// userEnd returns the index of the @ after the user of an address, or -1 if the address has no user. userEnd ignores
// the @ before an image digest. If the text before the first / or ? contains neither : nor @, the address has no user,
// and a later @ belongs to the path or to the query.
func userEnd(address string) int {
	authority := len(address)
	if slash := strings.IndexAny(address, "/?"); slash >= 0 {
		authority = slash
	}
	if !strings.ContainsAny(address[:authority], ":@") {
		return -1
	}
	at := strings.LastIndex(address, "@")
	for at >= authority && digestPattern.MatchString(address[at:]) {
		at = strings.LastIndex(address[:at], "@")
	}
	return at
}

// schemeWords lists words that can follow "Bearer" and "Basic" but are not tokens. For example, realm is the name of a
// parameter in the HTTP header "WWW-Authenticate: Bearer realm=x".
var schemeWords = []string{
	"authentication", "authorization", "credentials", "challenge", "realm", "scheme", "token", "tokens",
	"error", "scope", "service",
}

func withoutToken(found string) string {
	parts := schemePattern.FindStringSubmatch(found)
	token, _, _ := strings.Cut(parts[3], "=") // without base64 padding
	switch {
	case slices.Contains(schemeWords, strings.ToLower(token)):
		return found
	case strings.EqualFold(parts[1], "basic"):
		if !isPair(token) {
			return found
		}
	case len(parts[3]) < leastSecret:
		return found
	}
	return parts[1] + parts[2] + Marker
}

// isPair reports whether a text is USER:PASSWORD in base64 without padding.
func isPair(text string) bool {
	decoded, err := base64.RawStdEncoding.DecodeString(text)
	return err == nil && strings.Contains(string(decoded), ":")
}
