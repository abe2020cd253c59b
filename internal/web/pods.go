package web

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/traceevent"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/pkg/api"
)

func (a readAPI) list(w http.ResponseWriter, r *http.Request, f filter.Filter) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	after, err := previousPosition[position](r)
	if err != nil {
		return err
	}
	all, err := a.startUps(r, func(k filter.Key, _ string) bool { return f.MayMatch(k) })
	if err != nil {
		return err
	}
	if after != nil {
		i, found := slices.BinarySearchFunc(all, *after, func(s startUp, p position) int {
			return s.position().compare(p)
		})
		if found {
			i++
		}
		all = all[i:]
	}
	listed, remaining, err := paged(all, f, limit)
	if err != nil {
		return err
	}
	responseJSON(w, r, listed.text(remaining))
	return nil
}

// podPage is one page of the pod list. podPage holds the encoded items and the position of the last item.
type podPage struct {
	written bytes.Buffer
	items   int
	last    position
}

// paged encodes the first start-ups that match the filter. paged clears all elements of the argument "all".
func paged(all []startUp, f filter.Filter, limit int) (p *podPage, remaining int, err error) {
	p = new(podPage)
	for i, s := range all {
		all[i] = startUp{} // the encoded items take memory, so release the timelines
		meant, err := s.matches(f)
		switch {
		case err != nil:
			return p, 0, err
		case !meant:
			continue
		case p.items == limit:
			remaining++
			continue
		}
		item, err := s.encoded()
		if err != nil {
			return p, 0, err
		}
		p.add(item)
		p.last = s.position()
	}
	return p, remaining, nil
}

func (p *podPage) add(item []byte) {
	separator := ","
	if p.items == 0 {
		separator = `{"items":[`
	}
	p.written.WriteString(separator)
	p.written.Write(item)
	p.items++
}

// text returns the encoded api.PodList. Callers must call the method "text" only once for each podPage.
func (p *podPage) text(remaining int) []byte {
	if p.items == 0 {
		p.written.WriteString(`{"items":[`)
	}
	p.written.WriteString(`]`)
	if remaining > 0 {
		p.written.WriteString(`,"continue":"` + continueToken(p.last) + `","remaining":` + strconv.Itoa(remaining))
	}
	p.written.WriteString("}\n")
	return p.written.Bytes()
}

func (a readAPI) get(w http.ResponseWriter, r *http.Request, _ filter.Filter) error {
	record, err := a.requestedRecord(r)
	if err != nil {
		return err
	}
	record.WhatIf, record.WhatIfUnknown = whatif.Predict(record)
	return respond(w, r, record)
}

func (a readAPI) trace(w http.ResponseWriter, r *http.Request, _ filter.Filter) error {
	record, err := a.requestedRecord(r)
	if err != nil {
		return err
	}
	text, err := api.EncodeLine(traceevent.New(record))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", fileName(record)))
	responseJSON(w, r, append(text, '\n'))
	return nil
}

// fileName returns a file name that contains only characters that every file system accepts. Valid names of namespaces
// and pods contain no other characters.
func fileName(record api.Record) string {
	name := []byte(record.Namespace + "_" + record.Name + ".trace.json")
	for i, c := range name {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		default:
			name[i] = '-'
		}
	}
	return string(name)
}

// requestedRecord returns the record of the pod that a request names. If the request has a UID, the record belongs to
// the pod with this UID. If the request has no UID, the record belongs to the latest pod with the name in the request.
func (a readAPI) requestedRecord(r *http.Request) (api.Record, error) {
	namespace, name, uid := r.PathValue("namespace"), r.PathValue("name"), r.URL.Query().Get("uid")
	all, err := a.startUps(r, func(k filter.Key, u string) bool {
		return k.Namespace == namespace && k.Name == name && (uid == "" || u == uid)
	})
	if err != nil {
		return api.Record{}, err
	}
	if len(all) == 0 {
		reason := fmt.Sprintf("no pod %.63s/%.253s is known on this node", namespace, name)
		if uid != "" {
			reason = fmt.Sprintf("no pod %.63s/%.253s with the UID %.63s is known on this node", namespace, name, uid)
		}
		return api.Record{}, refuse(http.StatusNotFound, "not_found", reason)
	}
	return all[0].record()
}
