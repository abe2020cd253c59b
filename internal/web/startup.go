package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/history"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// startUp is one that the agent knows of: of a pod that is there, or of one that is gone.
type startUp struct {
	key       filter.Key
	uid       string
	createdAt time.Time

	there *timeline.Timeline // or
	gone  *history.Entry
}

// known lists the start-ups that can be meant, in the order of lists; or answers the request
// itself. A pod that goes between the two questions is told of once, as it was.
func (a api) known(w http.ResponseWriter, r *http.Request, may func(k filter.Key, uid string) bool) ([]startUp, bool) {
	timelines, ok := ask(a, w, r, a.timelines)
	if !ok {
		return nil, false
	}
	all := make([]startUp, 0, len(timelines))
	there := make(map[string]bool, len(timelines))
	for i := range timelines {
		t := &timelines[i]
		there[t.UID] = true
		if key := filter.KeyOf(*t); may(key, t.UID) {
			all = append(all, startUp{key: key, uid: t.UID, createdAt: t.CreatedAt, there: t})
		}
	}
	for _, e := range a.History.Entries() {
		key := filter.Key{Namespace: e.Namespace, Name: e.Name, State: e.State, Total: e.Total,
			SettledAt: e.SettledAt(), Gone: true}
		if !there[e.UID] && may(key, e.UID) {
			all = append(all, startUp{key: key, uid: e.UID, createdAt: e.CreatedAt(), gone: e})
		}
	}
	slices.SortFunc(all, func(a, b startUp) int { return a.place().compare(b.place()) })
	return all, true
}

// match says whether a start-up is meant that can be.
func (s startUp) match(f filter.Filter) (bool, error) {
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

// json is the record.
func (s startUp) json() ([]byte, error) {
	if s.there != nil {
		return export.EncodeLine(export.NewRecord(*s.there))
	}
	text, _, err := s.gone.JSON()
	return text, err
}

func (s startUp) record() (export.Record, error) {
	if s.there != nil {
		return export.NewRecord(*s.there), nil
	}
	record, _, err := s.gone.Record()
	return record, err
}

// place is where a start-up stands in lists: by namespace and name, the latest of a name first, as
// timeline.Sorted has it.
type place struct {
	Namespace string `json:"n"`
	Name      string `json:"p"`
	CreatedAt int64  `json:"t"` // Unix nanoseconds
	UID       string `json:"u"`
}

func (s startUp) place() place {
	return place{s.key.Namespace, s.key.Name, s.createdAt.UnixNano(), s.uid}
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Name, q.Name),
		cmp.Compare(q.CreatedAt, p.CreatedAt),
		cmp.Compare(p.UID, q.UID))
}

// fails answers a request that went wrong inside.
func (a api) fails(w http.ResponseWriter, err error) {
	a.logger.Error("cannot answer a request", zap.Error(err))
	writeError(w, http.StatusInternalServerError, "internal", "cannot create the answer; see the agent's log")
}
