package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/podlapse/podlapse/internal/filter"
)

const (
	defaultLimit = 100
	maxLimit     = 500
)

// parseQuery parses the filters of a request. parseQuery rejects invalid parameters. parseQuery also rejects a
// parameter that is neither in "filters" nor in "others". If the agent ignored a misspelled filter, the request would
// return everything.
func (a readAPI) parseQuery(r *http.Request, filters []string, others ...string) (filter.Filter, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return filter.Filter{}, badRequest("invalid query: %.200s: parameters must be percent-encoded, in the form "+
			"NAME=VALUE&NAME=VALUE", err)
	}
	known := slices.Concat(filters, others)
	for name := range values {
		if slices.Contains(known, name) {
			continue
		}
		if len(known) == 0 {
			return filter.Filter{}, badRequest("unknown parameter %.80q: remove it, because this path has no "+
				"parameters", name)
		}
		return filter.Filter{}, badRequest("unknown parameter %.80q: must be one of %s", name,
			strings.Join(slices.Sorted(slices.Values(known)), ", "))
	}
	for _, name := range others {
		if n := len(values[name]); n > 1 {
			return filter.Filter{}, badRequest("%s is set %d times: set it once", name, n)
		}
		// The agent itself creates the tokens of the parameter "continue". A token that contains a long name can exceed
		// the limit.
		if len(values.Get(name)) > filter.MaxText && name != "continue" {
			return filter.Filter{}, badRequest("%s is too long: must be at most %d bytes", name, filter.MaxText)
		}
	}
	f, err := filter.Parse(values, a.API.Now(), filters...)
	if err != nil {
		return filter.Filter{}, badRequest("%v", err)
	}
	return f, nil
}

func limitOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxLimit {
		return 0, badRequest("limit: invalid value %.80q: must be 1 to %d", text, maxLimit)
	}
	return limit, nil
}

// continueToken returns the continue token, which contains the position of the last item of a response. The agent does
// not store the token, so the token never expires.
func continueToken(position any) string {
	text, _ := json.Marshal(position) // cannot fail, because positions contain only strings and numbers
	return base64.RawURLEncoding.EncodeToString(text)
}

// previousPosition returns the position in the continue token of a request. Without a token, the result is nil.
func previousPosition[P interface{ isValid() bool }](r *http.Request) (*P, error) {
	token := r.URL.Query().Get("continue")
	if token == "" {
		return nil, nil
	}
	var p P
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || !p.isValid() {
		return nil, badRequest("continue: invalid value %.80q: must be the token of the previous response, or unset "+
			"to start with the first item", token)
	}
	return &p, nil
}
