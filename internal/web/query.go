package web

import (
	"fmt"
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
func (a readAPI) parseQuery(
	w http.ResponseWriter, r *http.Request, filters []string, others ...string,
) (filter.Filter, bool) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		badRequest(w, fmt.Sprintf("invalid query: %.200s: parameters must be "+
			"percent-encoded, in the form NAME=VALUE&NAME=VALUE", err))
		return filter.Filter{}, false
	}
	known := slices.Concat(filters, others)
	for name := range values {
		if slices.Contains(known, name) {
			continue
		}
		reason := fmt.Sprintf("unknown parameter %.80q: remove it, because this path has no parameters", name)
		if len(known) > 0 {
			reason = fmt.Sprintf("unknown parameter %.80q: must be one of %s", name,
				strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
		badRequest(w, reason)
		return filter.Filter{}, false
	}
	for _, name := range others {
		if n := len(values[name]); n > 1 {
			badRequest(w, fmt.Sprintf("%s is set %d times: set it once", name, n))
			return filter.Filter{}, false
		}
		// The agent itself creates the tokens of the parameter "continue". A token that contains a long name can exceed
		// the limit.
		if len(values.Get(name)) > filter.MaxText && name != "continue" {
			badRequest(w, fmt.Sprintf("%s is too long: must be at most %d bytes", name, filter.MaxText))
			return filter.Filter{}, false
		}
	}
	f, err := filter.Parse(values, a.API.Now(), filters...)
	if err != nil {
		badRequest(w, err.Error())
		return filter.Filter{}, false
	}
	return f, true
}

func badRequest(w http.ResponseWriter, reason string) {
	writeError(w, http.StatusBadRequest, "bad_request", reason)
}

func limitOf(w http.ResponseWriter, r *http.Request) (int, bool) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, true
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxLimit {
		badRequest(w, fmt.Sprintf("limit: invalid value %.80q: must be 1 to %d", text, maxLimit))
		return 0, false
	}
	return limit, true
}
