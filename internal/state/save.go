package state

import (
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// save writes all changes since the last save to the file.
func (s *Saver) save() error {
	pods, err := s.write()
	s.markSaved(pods, err)
	if err != nil {
		err = fmt.Errorf("save %s: %w", s.file.path, err)
		s.config.Report(false, err.Error())
		return err
	}
	s.config.Report(true, "saved in "+s.file.path)
	return nil
}

// markSaved records the result of a save. After a successful save, markSaved marks the pods whose data is in the file.
func (s *Saver) markSaved(pods []*inFlight, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing = err != nil; s.failing {
		return
	}
	for _, p := range pods {
		p.saved = true
	}
}

// write appends the changes to the file. If the appended sections become too large, or if appending to the file fails,
// write replaces the file. The result "pods" contains the pods whose data was written.
func (s *Saver) write() (pods []*inFlight, err error) {
	section, pods, err := s.section(s.encode())
	if err == nil && s.append(section) {
		return pods, nil
	}
	s.size, s.appended, s.sum = 0, 0, 0 // if this save fails, the next save also replaces the file
	section, pods, err = s.whole()
	if err == nil {
		err = s.file.replace(section)
	}
	if err == nil {
		s.size = sizeOf(section)
	}
	return pods, err
}

// append appends a section to the file. If the caller must replace the file instead, append returns false.
func (s *Saver) append(section [][]byte) bool {
	size := sizeOf(section)
	if s.size == 0 || s.appended+size > maxAppended || s.file.append(section, s.size) != nil {
		return false
	}
	s.size += size
	s.appended += size
	return true
}

func sizeOf(lines [][]byte) (size int64) {
	for _, line := range lines {
		size += int64(len(line))
	}
	return size
}

// encode encodes the observations since the last save and returns the lines of each pod. encode does not hold the
// Saver's lock while it encodes the observations.
func (s *Saver) encode() map[*inFlight][][]byte {
	var changed []*inFlight
	var fresh [][]freshObservation
	s.mu.Lock()
	lost, room := s.lost, maxLineBytes
	s.lost = 0
	for _, p := range s.inFlight {
		room -= p.bytes
		if len(p.fresh) > 0 {
			changed, fresh = append(changed, p), append(fresh, p.fresh)
			p.fresh = nil
		}
	}
	s.mu.Unlock()

	var overfull []*inFlight
	lines := map[*inFlight][][]byte{}
	for i, p := range changed {
		added, left := p.encode(fresh[i], room)
		if len(added) > 0 {
			lines[p] = added
		}
		room -= int(sizeOf(added))
		if left > 0 {
			lost += left
			overfull = append(overfull, p)
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range overfull {
		p.full = true
	}
	s.reportLost(lost)
	return lines
}

// reportLost counts omitted observations and UIDs. While a limit of the file is reached, reportLost logs only the first
// omission. The caller must hold the lock.
func (s *Saver) reportLost(lost int) {
	s.dropped.Add(float64(lost))
	if lost > 0 && !s.full {
		s.config.Logger.Warn("the state file is full: a restart of the agent will lose the newest observations",
			zap.Int("left_out", lost))
	}
	atLimit := len(s.inFlight) == maxInFlight || len(s.reported) == maxReported
	s.full = lost > 0 || s.full && atLimit
	for _, p := range s.inFlight {
		s.full = s.full || p.full
	}
}

// section returns a section with the given observations and with the changes since the last save. The result "pods"
// contains the pods whose observations are in the section. If a pod was reported or removed after the call of encode,
// section omits the pod's observations, because a reader would treat them as newer than the report or the removal.
func (s *Saver) section(observations map[*inFlight][][]byte) (lines [][]byte, pods []*inFlight, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := s.changes
	s.changes = nil
	if lines, err = s.begin(changes); err != nil {
		return nil, nil, err
	}
	for _, uid := range slices.Sorted(maps.Keys(s.inFlight)) {
		p := s.inFlight[uid]
		if added := observations[p]; len(added) > 0 {
			lines, pods = append(lines, added...), append(pods, p)
		}
	}
	lines, err = s.seal(lines)
	return lines, pods, err
}

// whole returns a section with all data. The result "pods" contains the pods whose data is in the section.
func (s *Saver) whole() (lines [][]byte, pods []*inFlight, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = nil
	reported := make([]changeLine, 0, len(s.reported))
	for _, uid := range s.reported {
		reported = append(reported, changeLine{kindReported, uid})
	}
	lines, err = s.begin(reported)
	if err != nil {
		return nil, nil, err
	}
	for _, uid := range slices.Sorted(maps.Keys(s.inFlight)) {
		p := s.inFlight[uid]
		lines = append(lines, p.lines...)
		if p.latest != nil {
			lines = append(lines, p.latest)
		}
		if len(p.lines) > 0 || p.latest != nil {
			pods = append(pods, p)
		}
	}
	lines, err = s.seal(lines)
	return lines, pods, err
}

// begin returns the lines at the beginning of a section: a header, the changes, the header of the recording, and the
// observations about the node (concernsNode). The caller must hold the lock.
func (s *Saver) begin(changes []changeLine) ([][]byte, error) {
	first, err := encodeLine(header{kindHeader, version, s.config.Node, s.config.Now().UTC(), s.eventsUntil})
	if err != nil {
		return nil, err
	}
	lines := [][]byte{first}
	for _, change := range changes {
		line, err := encodeLine(change)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	lines = append(lines, s.header)
	if len(s.inFlight) == 0 {
		// Later start-ups do not need the earlier observations about the node.
		s.silences, s.clockLog = timeline.SilenceLog{}, timeline.ClockLog{}
	}
	for _, o := range aboutNode(&s.silences, &s.clockLog) {
		line, err := recording.Encode(o)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// seal appends the end line of a section and adds the section to the checksum of the file.
func (s *Saver) seal(lines [][]byte) ([][]byte, error) {
	for _, line := range lines {
		s.sum = checksum(s.sum, line)
	}
	end, err := seal(s.sum)
	s.sum = checksum(s.sum, end)
	return append(lines, end), err
}
