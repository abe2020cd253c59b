package client

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Filter selects start-ups. A start-up must match all fields that are set.
type Filter struct {
	Namespaces    []string
	Name          string // name of the pod, or a prefix followed by "*"
	Owner         string // owner in the form Deployment/web or web
	LabelSelector string
	States        []timeline.State
	Phases        []timeline.Phase
	SlowerThan    time.Duration // the total must be longer; if Phases is set, the sum of these phases must be longer
	Since         time.Time     // start-ups in progress at this time or later
	Gone          *bool         // true: deleted pods; false: existing pods; nil: both. Not supported by Follow
}

func (f Filter) query() url.Values {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("namespace", strings.Join(f.Namespaces, ","))
	set("name", f.Name)
	set("owner", f.Owner)
	set("labelSelector", f.LabelSelector)
	set("state", joined(f.States))
	set("phase", joined(f.Phases))
	if f.SlowerThan > 0 {
		set("slower-than", f.SlowerThan.String())
	}
	if !f.Since.IsZero() {
		set("since", f.Since.Format(time.RFC3339Nano))
	}
	if f.Gone != nil {
		set("gone", strconv.FormatBool(*f.Gone))
	}
	return query
}

func joined[W ~string](words []W) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ",")
}
