package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/podlapse/podlapse/internal/record"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The values of -o.
const (
	outputWaterfall = "waterfall"
	outputJSON      = "json"
)

// replayConfig is what to show of a recording.
type replayConfig struct {
	pod    podName // zero for every pod
	output string  // outputWaterfall or outputJSON
	width  int     // terminal cells
}

// settings is the table of the replay command's flags.
func (c *replayConfig) settings() []setting {
	return []setting{
		{
			flag: "pod", value: "NAMESPACE/POD", help: "show only pods with this name; if unset, all pods",
			set: func(value string) error {
				if value == "" {
					return nil
				}
				return c.pod.set(value)
			},
		},
		{
			flag: "o", value: "waterfall|json", def: outputWaterfall,
			help: "output format: waterfall, a chart of each start-up; json, its record as a line of JSON",
			set:  choice(&c.output, outputWaterfall, outputJSON),
		},
		{
			flag: "width", value: "COLUMNS", def: strconv.Itoa(defaultColumns), help: "maximum width of a waterfall, 1 to 1023", set: setWidth(&c.width),
		},
	}
}

func runReplay(_ context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c replayConfig
	rest, err := settle(c.settings(), args, getenv, 1)
	if errors.Is(err, errHelp) {
		printHelp(stdout, agentProgram, "replay [flags] FILE\n\nFILE is a recording from --record-observations or "+
			"/debug/observations; - is standard input.", c.settings())
		return exitOK
	}
	if err == nil && len(rest) == 0 {
		err = errors.New("FILE is required: name a recording, or use - for standard input")
	}
	if err != nil {
		return failUsage(stderr, "replay", err)
	}
	timelines, err := replay(rest[0])
	if errors.Is(err, record.ErrTruncated) {
		fmt.Fprintf(stderr, "podlapse-agent replay: %v; ignoring that line\n", err)
		err = nil
	}
	if err == nil {
		timelines, err = c.chosen(timelines)
	}
	if err == nil {
		err = c.print(stdout, timelines)
	}
	if err != nil {
		return fail(stderr, "replay", err)
	}
	return exitOK
}

func replay(path string) ([]timeline.Timeline, error) {
	if path == "-" {
		timelines, err := record.Replay(record.NewReader(os.Stdin))
		return timelines, in("standard input", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	defer file.Close()
	timelines, err := record.Replay(record.NewReader(file))
	return timelines, in(path, err)
}

// in says where an error is.
func in(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
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

func (c *replayConfig) print(out io.Writer, timelines []timeline.Timeline) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i, t := range timelines {
		var err error
		switch {
		case c.output == outputJSON:
			err = encoder.Encode(export.NewRecord(t))
		case i == 0:
			_, err = io.WriteString(out, export.Waterfall(export.NewRecord(t), terminal.Page{Columns: c.width}))
		default:
			_, err = io.WriteString(out, "\n"+export.Waterfall(export.NewRecord(t), terminal.Page{Columns: c.width}))
		}
		if err != nil {
			return fmt.Errorf("write to standard output: %w", err)
		}
	}
	return nil
}
