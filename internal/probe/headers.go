package probe

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"
)

// Limits on configured headers.
const (
	maxHeaders     = 16
	maxHeaderValue = 1024 // maximum length of a value, in bytes
)

// Headers maps the names of request headers to their values. Errors, log messages and labels never contain the value of
// a header.
type Headers map[string]string

// UnmarshalYAML implements yaml.Unmarshaler. UnmarshalYAML replaces the parser's error, because that error would
// contain the value.
func (h *Headers) UnmarshalYAML(unmarshal func(any) error) error {
	var plain map[string]string
	if unmarshal(&plain) != nil {
		return errors.New("headers: must map each header name to one value, for example {Metadata-Flavor: Google}")
	}
	*h = plain
	return nil
}

// agentSets is part of the error if a configuration contains a header that the agent itself sets.
const agentSets = "the agent sets this header"

// notSent lists the headers that a configuration must not contain. Each value of the map is the reason why the header
// is not allowed.
var notSent = map[string]string{
	"Authorization": "probes send no credentials", "Proxy-Authorization": "probes send no credentials",
	"Cookie":     "probes send no credentials",
	"Host":       "the target sets the host",
	"Connection": agentSets, "Content-Length": agentSets, "Transfer-Encoding": agentSets, "Te": agentSets,
	"Trailer": agentSets, "Upgrade": agentSets, "Expect": agentSets,
}

func (h Headers) problems() (problems []error) {
	if len(h) > maxHeaders {
		problems = append(problems,
			fmt.Errorf("%d headers exceed the limit of %d: remove some headers", len(h), maxHeaders))
	}
	known := map[string]bool{}
	for _, given := range slices.Sorted(maps.Keys(h)) {
		name := http.CanonicalHeaderKey(given)
		switch why := notSent[name]; {
		case !httpguts.ValidHeaderFieldName(given):
			problems = append(problems,
				fmt.Errorf("invalid header name %.40q: must be a name such as Metadata-Flavor", given))
		case why != "":
			problems = append(problems, fmt.Errorf("header %s must not be set: %s", name, why))
		case known[name]:
			problems = append(problems, fmt.Errorf("header %s is set twice: set it once", name))
		case len(h[given]) > maxHeaderValue || !httpguts.ValidHeaderFieldValue(h[given]):
			problems = append(problems,
				fmt.Errorf("header %s: invalid value: must be one line of at most %d bytes", name, maxHeaderValue))
		}
		known[name] = true
	}
	return problems
}
