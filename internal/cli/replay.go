package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// outputWaterfall and outputJSON are the values of the flag -o of replay.
const outputWaterfall = "waterfall"

// replayConfig selects the pods of a recording and the format of their output.
type replayConfig struct {
	pod    podName // the selected pod; the zero value selects all pods
	output string  // outputWaterfall or outputJSON
	width  int     // width in terminal cells; 0 for the width of the terminal
}

func (c *replayConfig) table() flags.Table {
	return flags.Table{
		{
			Name: "pod", Value: "NAMESPACE/POD", Help: "show only pods with this namespace and name. The default is " +
				"all pods",
			Set: func(value string) error {
				if value == "" {
					return nil
				}
				return c.pod.set(value)
			},
		},
		{
			Name: "o", Value: "waterfall|json", Default: outputWaterfall,
			Help: "output format. \"waterfall\": a chart of each start-up. \"json\": one line of JSON for each " +
				"start-up",
			Set: flags.Choice(&c.output, outputWaterfall, outputJSON),
		},
		widthFlag(&c.width),
	}
}

// Replay returns the command that shows the timelines in a recording.
func Replay() Command {
	return Command{
		Name: "replay", Group: groupOffline, Run: runReplay, Files: true,
		Summary:     "show the timelines in a recording",
		Usage:       "FILE [flags]",
		Description: "FILE is a recording from --record-observations or /debug/observations. Use - for standard input.",
		Examples: []Example{
			{"Show the start-ups in a recording", "replay recording.jsonl"},
			{"Show one pod", "replay recording.jsonl --pod shop/web-0"},
			{"Read standard input and print records", "replay - -o json < recording.jsonl"},
		},
		Flags: func() flags.Table { return new(replayConfig).table() },
	}
}

func runReplay(_ context.Context, call Call) int {
	var c replayConfig
	rest, code, ok := call.Parse(c.table(), call.help(), 1)
	if !ok {
		return code
	}
	if len(rest) == 0 {
		return call.FailUsage(errors.New("FILE is required: give the path of a recording, or use - for standard input"))
	}
	timelines, err := replay(rest[0])
	if errors.Is(err, recording.ErrTruncated) {
		call.note(fmt.Errorf("%w: the command ignored this line", err))
		err = nil
	}
	if err == nil {
		timelines, err = c.chosen(timelines)
	}
	if err == nil {
		page := output{color: colorNever, width: c.width}.page(call.Stdout, call.Getenv)
		err = c.print(call.Stdout, page, timelines)
	}
	if err != nil {
		return call.Fail(err)
	}
	return ExitOK
}

// replay replays the recording in a file, or on standard input if the path is "-".
func replay(path string) ([]timeline.Timeline, error) {
	name, file := "standard input", os.Stdin
	if path != "-" {
		var err error
		if file, err = os.Open(path); err != nil {
			return nil, fmt.Errorf("open recording: %w: give the path of a recording that you can read", err)
		}
		defer file.Close()
		name = path
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: give the path of a recording file", name)
	}
	timelines, err := recording.Replay(recording.NewReader(file))
	if err != nil {
		return timelines, fmt.Errorf("%s: %w", name, err)
	}
	return timelines, nil
}

func (c *replayConfig) chosen(timelines []timeline.Timeline) ([]timeline.Timeline, error) {
	if c.pod != (podName{}) {
		timelines = slices.DeleteFunc(timelines, func(t timeline.Timeline) bool {
			return podName{t.Namespace, t.Name} != c.pod
		})
		if len(timelines) == 0 {
			return nil, fmt.Errorf("the recording does not contain pod %s/%s (--pod)", c.pod.namespace, c.pod.name)
		}
	}
	if len(timelines) == 0 {
		return nil, errors.New("the recording does not contain any pods")
	}
	return timelines, nil
}

func (c *replayConfig) print(out io.Writer, page terminal.Page, timelines []timeline.Timeline) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i, t := range timelines {
		var err error
		switch {
		case c.output == outputJSON:
			err = encoder.Encode(api.NewRecord(t))
		case i == 0:
			_, err = io.WriteString(out, render.Waterfall(api.NewRecord(t), page))
		default:
			_, err = io.WriteString(out, "\n"+render.Waterfall(api.NewRecord(t), page))
		}
		if err != nil {
			return fmt.Errorf("write to standard output: %w", err)
		}
	}
	return nil
}

// podName is the value of the flag --pod.
type podName struct{ namespace, name string }

func (p *podName) set(value string) error {
	namespace, name, ok := strings.Cut(value, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("invalid pod %q: must be NAMESPACE/POD", value)
	}
	*p = podName{namespace, name}
	return nil
}
