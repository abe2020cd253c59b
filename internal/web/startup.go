package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/history"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// startUp describes one start-up. The pod of the start-up either still exists, or was deleted and is in the history.
type startUp struct {
	key       filter.Key
	uid       string
	createdAt time.Time

	there *timeline.Timeline // the timeline, if the pod still exists; otherwise nil
	gone  *history.Entry     // the entry in the history, if the pod was deleted; otherwise nil
}

// startUps returns the start-ups for which the function "accept" returns true, sorted by position.
func (a readAPI) startUps(r *http.Request, accept func(k filter.Key, uid string) bool) ([]startUp, error) {
	timelines, err := ask(a, r, a.Timelines)
	if err != nil {
		return nil, err
	}
	all := make([]startUp, 0, len(timelines))
	for _, t := range timelines {
		if key := filter.KeyOf(t); accept(key, t.UID) {
			all = append(all, startUp{key: key, uid: t.UID, createdAt: t.CreatedAt, there: &t})
		}
	}
	for _, e := range a.deletedPods(timelines) {
		key := filter.Key{Namespace: e.Namespace, Name: e.Name, State: e.State, Total: e.Total,
			SettledAt: e.SettledAt(), Gone: true}
		if accept(key, e.UID) {
			all = append(all, startUp{key: key, uid: e.UID, createdAt: e.CreatedAt(), gone: e})
		}
	}
	slices.SortFunc(all, func(a, b startUp) int { return a.position().compare(b.position()) })
	return all, nil
}

// deletedPods returns the deleted pods in the history. The argument "timelines" contains the pods that still exist. If
// a pod was deleted after the agent read the timelines, both the timelines and the history contain the pod. deletedPods
// omits every pod that is also in the timelines, so a list contains each pod only once.
func (a readAPI) deletedPods(timelines []timeline.Timeline) []*history.Entry {
	there := make(map[string]bool, len(timelines))
	for _, t := range timelines {
		there[t.UID] = true
	}
	return slices.DeleteFunc(a.API.History.Entries(), func(e *history.Entry) bool { return there[e.UID] })
}

// matches reports whether the owner, the labels and the phases of a start-up match the filter. The caller has already
// checked the key of the start-up, for example the namespace and the state.
func (s startUp) matches(f filter.Filter) (bool, error) {
	if !f.NeedsDetail() {
		return true, nil
	}
	if s.there != nil {
		return f.Match(filter.DetailOf(*s.there)), nil
	}
	record, labels, err := s.gone.Record()
	if err != nil {
		return false, err
	}
	detail := filter.Detail{Owner: timeline.Owner(record.Owner), Labels: labels}
	for _, p := range record.Phases {
		detail.Phases = append(detail.Phases, filter.PhaseTime{Phase: p.Phase, Length: p.Length.Duration()})
	}
	return f.Match(detail), nil
}

// encoded returns the record of the start-up as one line of JSON.
func (s startUp) encoded() ([]byte, error) {
	if s.there != nil {
		return api.EncodeLine(api.NewRecord(*s.there))
	}
	text, _, err := s.gone.JSON()
	return text, err
}

func (s startUp) record() (api.Record, error) {
	if s.there != nil {
		return api.NewRecord(*s.there), nil
	}
	record, _, err := s.gone.Record()
	return record, err
}

// position is the sort key of start-ups in lists. Lists are sorted by namespace, then by name. If several pods have the
// same namespace and name, the newest pod comes first. timeline.Sorted uses the same order.
type position struct {
	Namespace string `json:"n"`
	Name      string `json:"p"`
	CreatedAt int64  `json:"t"` // creation time in Unix nanoseconds
	UID       string `json:"u"`
}

func (s startUp) position() position {
	return position{s.key.Namespace, s.key.Name, s.createdAt.UnixNano(), s.uid}
}

// isValid reports whether a decoded continue token contains a position.
func (p position) isValid() bool { return p.Name != "" }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Name, q.Name),
		cmp.Compare(q.CreatedAt, p.CreatedAt),
		cmp.Compare(p.UID, q.UID))
}
