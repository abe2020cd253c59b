package probe

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"
)

// Bounds on what a probe sends besides its own.
const (
	maxHeaders     = 16
	maxHeaderValue = 1024 // bytes
)

// Headers are those of a request, by name. No error, log or label repeats a value.
type Headers map[string]string

// UnmarshalYAML implements yaml.Unmarshaler. The parser's own error would repeat what stands there.
func (h *Headers) UnmarshalYAML(unmarshal func(any) error) error {
	var plain map[string]string
	if unmarshal(&plain) != nil {
		return errors.New("headers: want NAME: VALUE, each name once, such as {Metadata-Flavor: Google}")
	}
	*h = plain
	return nil
}

// notSent says why a header is not for a probe to send.
var notSent = map[string]string{
	"Authorization": "a probe sends no credentials", "Proxy-Authorization": "a probe sends no credentials", "Cookie": "a probe sends no credentials",
	"Host":       "the target says whom is asked",
	"Connection": "the agent decides how it asks", "Content-Length": "the agent decides how it asks", "Transfer-Encoding": "the agent decides how it asks",
	"Te": "the agent decides how it asks", "Trailer": "the agent decides how it asks", "Upgrade": "the agent decides how it asks", "Expect": "the agent decides how it asks",
}

func (h Headers) problems() (problems []error) {
	if len(h) > maxHeaders {
		problems = append(problems, fmt.Errorf("%d are too many: want at most %d", len(h), maxHeaders))
	}
	known := map[string]bool{}
	for _, given := range slices.Sorted(maps.Keys(h)) {
		name := http.CanonicalHeaderKey(given)
		switch why := notSent[name]; {
		case !httpguts.ValidHeaderFieldName(given):
			problems = append(problems, fmt.Errorf("%.40q is no name of a header", given))
		case why != "":
			problems = append(problems, fmt.Errorf("%s: %s: take it out", name, why))
		case known[name]:
			problems = append(problems, fmt.Errorf("%s: is there twice", name))
		case len(h[given]) > maxHeaderValue || !httpguts.ValidHeaderFieldValue(h[given]):
			problems = append(problems, fmt.Errorf("%s: its value is no text of one line and at most %d bytes", name, maxHeaderValue))
		}
		known[name] = true
	}
	return problems
}
