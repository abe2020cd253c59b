package state

import (
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// save writes all data of the Keeper to the file.
func (k *Keeper) save() error {
	lines, pods, err := k.lines()
	if err == nil {
		err = k.replace(lines)
	}
	k.note(pods, err)
	if err != nil {
		err = fmt.Errorf("save %s: %w", k.file, err)
		k.config.Report(false, err.Error())
		return err
	}
	k.config.Report(true, "saved in "+k.file)
	return nil
}

// note records the result of a save. After a successful save, note marks the pods whose data is in the file.
func (k *Keeper) note(pods []*inFlight, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failing = err != nil; k.failing {
		return
	}
	for _, p := range pods {
		p.saved = true
	}
}

// lines returns the lines of the new file, and the pods whose data the lines contain. lines does not hold the lock
// while it encodes observations.
func (k *Keeper) lines() ([][]byte, []*inFlight, error) {
	type batch struct {
		pod   *inFlight
		fresh []freshObservation
	}
	var batches []batch
	k.mu.Lock()
	lost, room := k.lost, maxLineBytes
	k.lost = 0
	for _, p := range k.inFlight {
		room -= p.bytes
		if len(p.fresh) > 0 {
			batches = append(batches, batch{p, p.fresh})
			p.fresh = nil
		}
	}
	k.mu.Unlock()

	var overfull []*inFlight
	for _, b := range batches {
		left, added := b.pod.encode(b.fresh, room)
		room -= added
		if left > 0 {
			lost += left
			overfull = append(overfull, b.pod)
		}
	}

	k.mu.Lock()
	for _, p := range overfull {
		p.full = true
	}
	k.reportLost(lost)
	lines, pods, err := k.content()
	k.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	var sum uint32
	for _, line := range lines {
		sum = checksum(sum, line)
	}
	end, err := seal(sum)
	return append(lines, end), pods, err
}

// reportLost counts omitted data, and logs the first omission. The caller must hold the lock.
func (k *Keeper) reportLost(lost int) {
	k.dropped.Add(float64(lost))
	if lost > 0 && !k.full {
		k.config.Logger.Warn("the state file is full: a restart of the agent will lose the newest observations",
			zap.Int("left_out", lost))
	}
	k.full = lost > 0 || len(k.inFlight) == maxInFlight || len(k.reported) == maxReported
	for _, p := range k.inFlight {
		k.full = k.full || p.full
	}
}

// content returns all lines except the end line, and the pods whose data the lines contain. The caller must hold the
// lock.
func (k *Keeper) content() (lines [][]byte, pods []*inFlight, err error) {
	first, err := encodeLine(header{kindHeader, version, k.config.Node, k.config.Now().UTC(), k.eventsUntil})
	if err != nil {
		return nil, nil, err
	}
	lines = [][]byte{first}
	for _, uid := range k.reported {
		line, err := encodeLine(reportedLine{kindReported, uid})
		if err != nil {
			return nil, nil, err
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
			return nil, nil, err
		}
		lines = append(lines, line)
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
	return lines, pods, nil
}
