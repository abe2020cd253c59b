package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/terminal"
)

const (
	// watchEvery is the minimum time between two queries with -w.
	watchEvery = 2 * time.Second
	// watchShare limits how often a command with -w queries agents. After a query, the command waits for at least
	// watchShare times the duration of that query. For example, after a query of 1 s, the command waits for 4 s.
	watchShare = 4
	// maxWatched is the maximum number of items that a command with -w remembers. If a list has more than
	// maxWatched items, the command prints the excess items again after each query, even if they have not changed.
	maxWatched = 100_000
)

// query is a function that queries the agents for the items of a list. The function also returns the errors of agents
// that did not respond.
type query[T any] func(ctx context.Context) (items []T, failed []error, err error)

// show queries the agents and prints the list. With -w, show repeats the query and prints the changed rows.
func show[T any](ctx context.Context, a agentQuery, v view[T], o listOutput, limit time.Duration, ask query[T]) int {
	items, failed, err := limited(ctx, limit, ask)
	if err != nil {
		return a.fail(err)
	}
	if !o.watch {
		text, err := v.text(v.sorted(items, o.sortBy), o, o.page(a.Stdout, a.Getenv))
		if err != nil {
			return a.fail(err)
		}
		return a.print(text, failed)
	}
	w := watcher[T]{agentQuery: a, view: v, output: o, known: map[string]string{}, headings: !o.noHeaders}
	for {
		if code := w.print(items, failed); code != ExitOK {
			return code
		}
		if !backoff.Sleep(ctx, max(watchEvery, watchShare*w.took)) {
			return ExitOK // the user stopped the command with Ctrl-C
		}
		began := time.Now()
		items, failed, err = limited(ctx, limit, ask)
		w.took = time.Since(began)
		switch {
		case ctx.Err() != nil:
			return ExitOK
		case err != nil:
			failed = []error{err}
		}
	}
}

func limited[T any](ctx context.Context, limit time.Duration, ask query[T]) ([]T, []error, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return ask(ctx)
}

// watcher prints the rows that are new or have changed.
type watcher[T any] struct {
	agentQuery
	view     view[T]
	output   listOutput
	known    map[string]string // the state of each item, by its ID
	headings bool              // print the headings before the next row
	trouble  string            // text of the errors of the latest query
	took     time.Duration     // duration of the latest query
}

func (w *watcher[T]) print(items []T, failed []error) int {
	w.noteChanged(failed)
	var changed []T
	known := make(map[string]string, len(items))
	for _, item := range w.view.sorted(items, w.output.sortBy) {
		id, state := w.view.id(item), w.view.state(item)
		if before, ok := w.known[id]; !ok || before != state {
			changed = append(changed, item)
		}
		if len(known) < maxWatched {
			known[id] = state
		}
	}
	if len(failed) > 0 { // keep the items of agents that did not respond
		for id, state := range w.known {
			if _, ok := known[id]; !ok && len(known) < maxWatched {
				known[id] = state
			}
		}
	}
	w.known = known
	if len(changed) == 0 {
		return ExitOK
	}
	text, err := w.text(changed)
	if err != nil {
		return w.fail(err)
	}
	return w.write(text)
}

func (w *watcher[T]) text(changed []T) (string, error) {
	var out strings.Builder
	switch w.output.format {
	case outputJSON, outputYAML:
		for _, item := range changed {
			text, err := terminal.JSON(w.view.object(item))
			if w.output.format == outputYAML {
				text, err = terminal.YAML(w.view.object(item))
				text = "---\n" + text
			}
			if err != nil {
				return "", err
			}
			out.WriteString(text)
		}
		return out.String(), nil
	case outputName:
		return w.view.names(changed), nil
	}
	headings := w.headings
	w.headings = false
	return w.view.table(changed, w.output, w.output.page(w.Stdout, w.Getenv), headings), nil
}

// noteChanged prints the errors, unless the previous query returned the same errors.
func (w *watcher[T]) noteChanged(failed []error) {
	trouble := fmt.Sprint(failed)
	if trouble != w.trouble {
		w.noteFailed(failed)
	}
	w.trouble = trouble
}
