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
func (k *Keeper) save() error {
	pods, err := k.write()
	k.markSaved(pods, err)
	if err != nil {
		err = fmt.Errorf("save %s: %w", k.file.path, err)
		k.config.Report(false, err.Error())
		return err
	}
	k.config.Report(true, "saved in "+k.file.path)
	return nil
}

// markSaved records the result of a save. After a successful save, markSaved marks the pods whose data is in the file.
func (k *Keeper) markSaved(pods []*inFlight, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failing = err != nil; k.failing {
		return
	}
	for _, p := range pods {
		p.saved = true
	}
}

// write appends the changes to the file. If the appended sections become too large, or if write cannot append, write
// replaces the file. The result "pods" contains the pods whose data was written.
func (k *Keeper) write() (pods []*inFlight, err error) {
	section, pods, err := k.section(k.encode())
	if err == nil && k.append(section) {
		return pods, nil
	}
	k.size, k.appended, k.sum = 0, 0, 0 // if this save fails, the next save also replaces the file
	section, pods, err = k.whole()
	if err == nil {
		err = k.file.replace(section)
	}
	if err == nil {
		k.size = sizeOf(section)
	}
	return pods, err
}

// append appends a section to the file. append returns false if the next section must replace the file.
func (k *Keeper) append(section [][]byte) bool {
	size := sizeOf(section)
	if k.size == 0 || k.appended+size > maxAppended || k.file.append(section, k.size) != nil {
		return false
	}
	k.size += size
	k.appended += size
	return true
}

func sizeOf(lines [][]byte) (size int64) {
	for _, line := range lines {
		size += int64(len(line))
	}
	return size
}

// encode encodes the observations since the last save and returns the lines of each pod. While encode encodes the
// observations, encode does not hold the Keeper's lock.
func (k *Keeper) encode() map[*inFlight][][]byte {
	var changed []*inFlight
	var fresh [][]freshObservation
	k.mu.Lock()
	lost, room := k.lost, maxLineBytes
	k.lost = 0
	for _, p := range k.inFlight {
		room -= p.bytes
		if len(p.fresh) > 0 {
			changed, fresh = append(changed, p), append(fresh, p.fresh)
			p.fresh = nil
		}
	}
	k.mu.Unlock()

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

	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range overfull {
		p.full = true
	}
	k.reportLost(lost)
	return lines
}

// reportLost counts omitted data and logs the first omission. The caller must hold the lock.
func (k *Keeper) reportLost(lost int) {
	k.dropped.Add(float64(lost))
	if lost > 0 && !k.full {
		k.config.Logger.Warn("the state file is full: a restart of the agent will lose the newest observations",
			zap.Int("left_out", lost))
	}
	atLimit := len(k.inFlight) == maxInFlight || len(k.reported) == maxReported
	k.full = lost > 0 || k.full && atLimit
	for _, p := range k.inFlight {
		k.full = k.full || p.full
	}
}

// section returns a section with the given observations and with the changes since the last save. The result "pods"
// contains the pods of the given observations. section omits the observations of pods that were reported or removed
// after encode was called, because a reader treats the observations in a section as newer than the section's changes.
func (k *Keeper) section(observations map[*inFlight][][]byte) (lines [][]byte, pods []*inFlight, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	changes := k.changes
	k.changes = nil
	if lines, err = k.begin(changes); err != nil {
		return nil, nil, err
	}
	for _, uid := range slices.Sorted(maps.Keys(k.inFlight)) {
		p := k.inFlight[uid]
		if added := observations[p]; len(added) > 0 {
			lines, pods = append(lines, added...), append(pods, p)
		}
	}
	lines, err = k.seal(lines)
	return lines, pods, err
}

// whole returns a section with all data, and the pods whose data the section contains.
func (k *Keeper) whole() (lines [][]byte, pods []*inFlight, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes = nil
	reported := make([]changeLine, 0, len(k.reported))
	for _, uid := range k.reported {
		reported = append(reported, changeLine{kindReported, uid})
	}
	lines, err = k.begin(reported)
	if err != nil {
		return nil, nil, err
	}
	for _, uid := range slices.Sorted(maps.Keys(k.inFlight)) {
		p := k.inFlight[uid]
		lines = append(lines, p.lines...)
		if p.latest != nil {
			lines = append(lines, p.latest)
		}
		if len(p.lines) > 0 || p.latest != nil {
			pods = append(pods, p)
		}
	}
	lines, err = k.seal(lines)
	return lines, pods, err
}

// begin returns the lines at the beginning of a section: a header, the changes, the header of the recording, and the
// periods in which the runtime did not respond. The caller must hold the lock.
func (k *Keeper) begin(changes []changeLine) ([][]byte, error) {
	first, err := encodeLine(header{kindHeader, version, k.config.Node, k.config.Now().UTC(), k.eventsUntil})
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
	lines = append(lines, k.header)
	if len(k.inFlight) == 0 {
		k.silences = timeline.SilenceLog{} // later start-ups do not need earlier silences
	}
	for _, silent := range k.silences.Silences() {
		line, err := recording.Encode(silent)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// seal appends the end line of a section and adds the section to the checksum of the file.
func (k *Keeper) seal(lines [][]byte) ([][]byte, error) {
	for _, line := range lines {
		k.sum = checksum(k.sum, line)
	}
	end, err := seal(k.sum)
	k.sum = checksum(k.sum, end)
	return append(lines, end), err
}
