package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/traceevent"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/pkg/api"
)

// podFilters returns the parameters that select pods.
func podFilters() []string { return filter.Names() }

func (a readAPI) list(w http.ResponseWriter, r *http.Request) {
	f, ok := a.parseQuery(w, r, podFilters(), "limit", "continue")
	if !ok {
		return
	}
	limit, ok := limitOf(w, r)
	if !ok {
		return
	}
	after, ok := afterOf(w, r)
	if !ok {
		return
	}
	all, ok := a.startUps(w, r, func(k filter.Key, _ string) bool { return f.MayMatch(k) })
	if !ok {
		return
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
		a.internalError(w, err)
		return
	}
	responseJSON(w, r, listed.text(remaining))
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
		p.written.WriteString(`,"continue":"` + p.last.token() + `","remaining":` + strconv.Itoa(remaining))
	}
	p.written.WriteString("}\n")
	return p.written.Bytes()
}

// token returns the continue token, which contains the position of the last item of a response. The agent does not
// store the token, so the token never expires.
func (p position) token() string {
	text, _ := json.Marshal(p) // cannot fail, because p contains only strings and a number
	return base64.RawURLEncoding.EncodeToString(text)
}

func afterOf(w http.ResponseWriter, r *http.Request) (*position, bool) {
	token := r.URL.Query().Get("continue")
	if token == "" {
		return nil, true
	}
	var p position
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Name == "" {
		badRequest(w, badToken(token))
		return nil, false
	}
	return &p, true
}

func badToken(token string) string {
	return fmt.Sprintf("continue: invalid value %.80q: must be the token of the previous response, or "+
		"unset to start with the first item", token)
}

func (a readAPI) get(w http.ResponseWriter, r *http.Request) {
	s, ok := a.requestedPod(w, r)
	if !ok {
		return
	}
	record, err := s.record()
	if err != nil {
		a.internalError(w, err)
		return
	}
	record.WhatIf, record.WhatIfUnknown = whatif.Predict(record)
	text, err := api.EncodeLine(record)
	a.send(w, r, text, err)
}

func (a readAPI) trace(w http.ResponseWriter, r *http.Request) {
	s, ok := a.requestedPod(w, r)
	if !ok {
		return
	}
	record, err := s.record()
	if err != nil {
		a.internalError(w, err)
		return
	}
	text, err := api.EncodeLine(traceevent.New(record))
	if err == nil {
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", fileName(record)))
	}
	a.send(w, r, text, err)
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

// requestedPod returns the pod that a request names. If the request has a UID, requestedPod returns the pod with this
// UID. If the request has no UID, requestedPod returns the latest pod with the name in the request. If the agent does
// not know the pod, requestedPod writes an error response and returns false.
func (a readAPI) requestedPod(w http.ResponseWriter, r *http.Request) (startUp, bool) {
	if _, ok := a.parseQuery(w, r, nil, "uid"); !ok {
		return startUp{}, false
	}
	namespace, name, uid := r.PathValue("namespace"), r.PathValue("name"), r.URL.Query().Get("uid")
	all, ok := a.startUps(w, r, func(k filter.Key, u string) bool {
		return k.Namespace == namespace && k.Name == name && (uid == "" || u == uid)
	})
	if !ok {
		return startUp{}, false
	}
	if len(all) == 0 {
		reason := fmt.Sprintf("no pod %.63s/%.253s is known on this node", namespace, name)
		if uid != "" {
			reason = fmt.Sprintf("no pod %.63s/%.253s with the UID %.63s is known on this node", namespace, name, uid)
		}
		writeError(w, http.StatusNotFound, "not_found", reason)
		return startUp{}, false
	}
	return all[0], true
}
