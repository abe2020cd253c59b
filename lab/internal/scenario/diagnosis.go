package scenario

import (
	"context"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// printDiagnosis prints and saves the information that a developer needs to find out why a scenario failed.
// printDiagnosis runs before the namespace is deleted. If a part of the information is not available, printDiagnosis
// continues with the next part.
func printDiagnosis(ctx context.Context, b *bench.Bench, out io.Writer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	keepTimelines(ctx, b, out)
	printEvents(ctx, b, out)
	fmt.Fprintln(out, "\nThe end of the agent's log:")
	fmt.Fprintln(out, b.Node.AgentLogEnd(30))
}

// keepTimelines saves the timelines of the pods that still exist.
func keepTimelines(ctx context.Context, b *bench.Bench, out io.Writer) {
	pods, err := b.Kube.Pods(ctx, b.Namespace)
	if err != nil {
		fmt.Fprintf(out, "\ncannot read timelines: %v\n", err)
		return
	}
	for _, pod := range pods {
		timeline, err := b.Agent.Timeline(ctx, b.Namespace, pod.Name)
		if err == nil {
			err = saveTimeline(b, timeline)
		}
		if err != nil {
			fmt.Fprintf(out, "cannot save the timeline of %s: %v\n", pod.Name, err)
		}
	}
	fmt.Fprintf(out, "\nTimelines: %s\nObservations: %s\n", keptIn(b), b.Node.AgentObservations())
}

func keptIn(b *bench.Bench) string { return b.Node.In("scenarios", b.Namespace) }

// saveTimeline writes a timeline to a file. The file remains when the namespace is deleted. The command "lab down"
// removes the file.
func saveTimeline(b *bench.Bench, timeline agent.Timeline) error {
	return saveTimelineAs(b, timeline.Name, timeline)
}

func saveTimelineAs(b *bench.Bench, name string, timeline agent.Timeline) error {
	if err := os.MkdirAll(keptIn(b), 0o700); err != nil {
		return fmt.Errorf("save timeline: %w", err)
	}
	if err := os.WriteFile(keptIn(b)+"/"+name+".json", timeline.Raw, 0o600); err != nil {
		return fmt.Errorf("save timeline: %w", err)
	}
	return nil
}

// keepObservations copies the recording of the node's own agent. Each agent appends to the same file, so the copy also
// contains the observations of earlier agents.
func keepObservations(b *bench.Bench, name string) error {
	recorded, err := os.ReadFile(b.Node.AgentObservations())
	if err != nil {
		return fmt.Errorf("save observations: %w", err)
	}
	if err := os.MkdirAll(keptIn(b), 0o700); err != nil {
		return fmt.Errorf("save observations: %w", err)
	}
	if err := os.WriteFile(keptIn(b)+"/"+name+".jsonl", recorded, 0o600); err != nil {
		return fmt.Errorf("save observations: %w", err)
	}
	return nil
}

func printEvents(ctx context.Context, b *bench.Bench, out io.Writer) {
	events, err := b.Kube.Events(ctx, b.Namespace)
	if err != nil {
		fmt.Fprintf(out, "\ncannot read Events: %v\n", err)
		return
	}
	sort.SliceStable(events, func(i, j int) bool {
		return events[i].CreationTimestamp.Before(&events[j].CreationTimestamp)
	})
	fmt.Fprintln(out, "\nEvents:")
	for _, event := range events {
		if event.InvolvedObject.Kind != "Pod" {
			continue
		}
		fmt.Fprintf(out, "  %s %s %s %s %s: %s\n", event.CreationTimestamp.UTC().Format("15:04:05"), event.Type,
			event.InvolvedObject.Name, event.InvolvedObject.FieldPath, event.Reason, strings.TrimSpace(event.Message))
	}
}
