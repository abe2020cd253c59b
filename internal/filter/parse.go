package filter

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/podlapse/podlapse/internal/resourcetype"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// MaxText is the maximum length of a parameter in bytes. The limit is necessary because error messages quote
// parameters, and because a parsed label selector can need much more memory than its text.
const MaxText = 4096

// parsers maps each parameter to its parser.
var parsers = map[string]func(f *Filter, value string, now time.Time) error{
	"namespace": func(f *Filter, value string, _ time.Time) error {
		f.Namespaces = strings.Split(value, ",")
		if slices.Contains(f.Namespaces, "") {
			return fmt.Errorf("must be namespaces separated by commas")
		}
		return nil
	},
	"name": func(f *Filter, value string, _ time.Time) error {
		if strings.Contains(strings.TrimSuffix(value, "*"), "*") {
			return fmt.Errorf("must be a pod name, optionally with a \"*\" at the end")
		}
		f.Name = value
		return nil
	},
	"owner": func(f *Filter, value string, _ time.Time) error {
		kind, name, ok := strings.Cut(value, "/")
		if !ok {
			kind, name = "", value
		}
		if name == "" || ok && kind == "" || strings.Contains(name, "/") {
			return fmt.Errorf("must be KIND/NAME or NAME, for example Deployment/web")
		}
		f.Owner = timeline.Owner{Kind: resourcetype.OwnerKind(kind), Name: name}
		return nil
	},
	"labelSelector": func(f *Filter, value string, _ time.Time) error {
		selector, err := labels.Parse(value)
		if err != nil {
			return fmt.Errorf("must be a label selector, for example app=web,tier!=test: %w", err)
		}
		f.Labels = selector
		return nil
	},
	"state": func(f *Filter, value string, _ time.Time) (err error) {
		f.States, err = parseWords(value, States())
		return err
	},
	"phase": func(f *Filter, value string, _ time.Time) (err error) {
		f.Phases, err = parseWords(value, timeline.Phases())
		return err
	},
	"slower-than": func(f *Filter, value string, _ time.Time) error {
		length, err := time.ParseDuration(value)
		if err != nil || length <= 0 {
			return fmt.Errorf("must be a duration, for example 5s or 1m30s")
		}
		f.SlowerThan = length
		return nil
	},
	"since": func(f *Filter, value string, now time.Time) (err error) {
		f.Since, err = ParseTime(value, now)
		return err
	},
	"gone": func(f *Filter, value string, _ time.Time) error {
		gone, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("must be true or false")
		}
		f.Gone = &gone
		return nil
	},
}

// ParseTime parses a time, or a duration such as 15m, which means 15 minutes before now. The error contains an example
// of a valid value.
func ParseTime(value string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(value); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return time.Time{}, fmt.Errorf("must be a time such as 2026-03-01T12:00:00Z, or a duration before now such " +
			"as 15m")
	}
	return at, nil
}

// States returns the states of a start-up.
func States() []timeline.State {
	return []timeline.State{timeline.StateStarting, timeline.StateReady, timeline.StateSucceeded, timeline.StateFailed,
		timeline.StateDeleted, timeline.StateGivenUp}
}

// Names returns the names of the parameters that Parse accepts.
func Names() []string { return slices.Sorted(maps.Keys(parsers)) }

// Parse parses the parameters with the given names and ignores other parameters. Parse ignores an empty value. The
// error names the parameter and describes the valid values.
func Parse(values url.Values, now time.Time, names ...string) (Filter, error) {
	var f Filter
	for _, name := range names {
		given := values[name]
		switch {
		case len(given) == 0, len(given) == 1 && given[0] == "":
			continue
		case len(given) > 1:
			return Filter{}, fmt.Errorf("%s is set %d times: set it once", name, len(given))
		case len(given[0]) > MaxText:
			return Filter{}, fmt.Errorf("%s is too long: must be at most %d bytes", name, MaxText)
		}
		if err := parsers[name](&f, given[0], now); err != nil {
			return Filter{}, fmt.Errorf("%s: invalid value %.80q: %w", name, given[0], err)
		}
	}
	return f, nil
}

// parseWords parses a comma-separated list of known words.
func parseWords[W ~string](value string, all []W) ([]W, error) {
	var some []W
	for item := range strings.SplitSeq(value, ",") {
		if !slices.Contains(all, W(item)) {
			known := make([]string, len(all))
			for i, w := range all {
				known[i] = string(w)
			}
			return nil, fmt.Errorf("must be one or more of %s, separated by commas", strings.Join(known, ", "))
		}
		some = append(some, W(item))
	}
	return some, nil
}
