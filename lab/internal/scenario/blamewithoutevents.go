package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/blame"
)

// eventlessExam contains the score of an agent without Events. eventlessExam also contains the sums over the phases of
// all start-ups, with and without Events.
type eventlessExam struct {
	score         blame.Score // score of the agent without Events
	with, without phaseSums
}

// judgeWithoutEvents judges all start-ups again, as if the agent had no Events. For this purpose, judgeWithoutEvents
// removes the observations of Event watches from the agent's recording, and replays the recording. An agent without
// Events may report less, but must not report a wrong cause. The parameter "with" is the score of the agent with
// Events.
func (e *exam) judgeWithoutEvents(ctx context.Context, with blame.Score, v *Verdict) (eventlessExam, error) {
	w := eventlessExam{with: phaseSums{}, without: phaseSums{}}
	replayed, err := e.replayWithoutEvents(ctx)
	if err != nil {
		return w, err
	}
	for _, r := range e.results {
		if r.failed != nil {
			continue
		}
		timeline, there := replayed[r.name]
		if !there {
			v.Problem("row %s: the replay without Events has no timeline", r.name)
			continue
		}
		reported, err := blame.Read(timeline)
		if err != nil {
			return w, err
		}
		score := blame.Judge(reported, r.truth)
		w.score.Add(score)
		violations, _ := blame.Compare(reported, r.trueLengths)
		for _, one := range violations {
			v.Problem("row %s: without Events, a true duration is outside the agent's error bound: %s", r.name, one)
		}
		w.with.add(r.reported)
		w.without.add(reported)
		v.Compared++
		for _, f := range score.Findings {
			v.Problem("row %s: without Events, the agent reports %s instead of %s for %s s (phase %s)", r.name,
				f.Reported.Cause, strings.Join(f.Stretch.Causes, "/"), seconds(f.Length), f.Reported.Phase)
		}
	}
	// Without this check, a replay that covers little time or rarely names the right cause would pass.
	if least := with.Judged() * 9 / 10; w.score.Judged() < least || w.score.Right < least/3 {
		v.Problem("without Events, %s s were judged and %s s are right, want at least %s s and %s s",
			seconds(w.score.Judged()), seconds(w.score.Right), seconds(least), seconds(least/3))
	}
	return w, nil
}

// write writes a row for each phase. The parameter "format" is a format for five strings: the name of the phase, its
// total length with Events and without Events, and its mean error bound with Events and without Events.
func (w eventlessExam) write(out io.Writer, format string) {
	names := maps.Clone(w.with)
	maps.Copy(names, w.without)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := w.with[name], w.without[name]
		if a.length+b.length > 0 {
			fmt.Fprintf(out, format, name, seconds(a.length), seconds(b.length), seconds(a.meanError()),
				seconds(b.meanError()))
		}
	}
}

// phaseSums maps the name of a phase to the sums over all start-ups.
type phaseSums map[string]phaseSum

type phaseSum struct {
	length, errors time.Duration
	count          int
}

func (s phaseSums) add(reported []blame.Reported) {
	for _, r := range reported {
		sum := s[r.Phase]
		sum.length += r.Length()
		sum.errors += r.Error
		sum.count++
		s[r.Phase] = sum
	}
}

func (s phaseSum) meanError() time.Duration { return s.errors / time.Duration(max(s.count, 1)) }

// replayWithoutEvents removes the Events from the agent's recording, replays the recording, and saves the result in a
// file. replayWithoutEvents returns the timelines by pod name.
func (e *exam) replayWithoutEvents(ctx context.Context) (map[string]agent.Timeline, error) {
	recorded, err := os.ReadFile(e.bench.Node.AgentObservations())
	if err != nil {
		return nil, fmt.Errorf("read the agent's recording: %w", err)
	}
	fewer, err := removeEvents(recorded)
	if err != nil {
		return nil, err
	}
	program := exec.CommandContext(ctx, e.bench.Node.Agent(), "replay", "-", "-o", "json")
	program.Stdin = bytes.NewReader(fewer)
	var complaints strings.Builder
	program.Stderr = &complaints
	printed, err := program.Output()
	if err != nil {
		return nil, fmt.Errorf("replay the recording: %w: %s", err, complaints.String())
	}
	if err := os.MkdirAll(keptIn(e.bench), 0o700); err != nil {
		return nil, fmt.Errorf("save the replay: %w", err)
	}
	file := filepath.Join(keptIn(e.bench), "without-events.jsonl")
	if err := os.WriteFile(file, printed, 0o600); err != nil {
		return nil, fmt.Errorf("save the replay: %w", err)
	}
	records, err := agent.ReadRecords(agent.Output{File: file}, e.bench.Namespace)
	timelines := map[string]agent.Timeline{}
	for _, t := range records.Timelines {
		timelines[t.Name] = t
	}
	return timelines, err
}

// removeEvents removes the observations of Event watches from a recording. removeEvents also changes the header of the
// recording: the new header states that the agent had no Events.
func removeEvents(recorded []byte) ([]byte, error) {
	var kept bytes.Buffer
	for line := range bytes.Lines(recorded) {
		var tag struct{ Kind string }
		if err := json.Unmarshal(line, &tag); err != nil {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break // the agent is still writing the line
			}
			return nil, fmt.Errorf("read the recording: %w", err)
		}
		switch tag.Kind {
		case "event_seen", "events_watched", "events_lost":
			continue
		case "header":
			without := bytes.Replace(line, []byte(`"events":true`), []byte(`"events":false`), 1)
			if bytes.Equal(line, without) {
				return nil, errors.New("the header of the recording does not contain \"events\":true")
			}
			line = without
		}
		kept.Write(line)
	}
	return kept.Bytes(), nil
}
