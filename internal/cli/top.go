package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/internal/top"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

// topConfig is what to show, and which agents to query.
type topConfig struct {
	askConfig
	since time.Duration
	once  bool
}

func (c *topConfig) table() flags.Table {
	return slices.Concat(flags.Table{
		flags.Switch("once", "", &c.once,
			"print one table and exit; always on if standard output is not a terminal"),
		{
			Name: "since", Value: "DURATION", Default: "10m",
			Help: "show start-ups that completed within this time, at most 168h",
			Set: func(value string) error {
				const maxSince = 7 * 24 * time.Hour
				since, err := time.ParseDuration(value)
				if err != nil || since <= 0 || since > maxSince {
					return fmt.Errorf("invalid duration %q: must be at most 168h, for example 10m", value)
				}
				c.since = since
				return nil
			},
		},
	}, c.askConfig.table())
}

func (c *topConfig) filter() client.Filter {
	filter := client.Filter{Since: time.Now().Add(-c.since)}
	if c.namespace != "" {
		filter.Namespaces = []string{c.namespace}
	}
	return filter
}

func runTop(ctx context.Context, call Call) int {
	var c topConfig
	asking, _, code, ok := begin(call, "top [flags]\n\nShows the pods that are starting, where each is stuck, "+
		"and the recently started pods, of all nodes or one.\nUpdates until q or Ctrl-C.", c.table(), &c.target, 0)
	if !ok {
		return code
	}
	defer asking.close()
	file, _ := call.Stdout.(*os.File)
	if _, isTerminal := terminal.Width(file); isTerminal && !c.once && c.format == outputTable {
		return asking.liveTop(ctx, c, file)
	}
	ctx, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	return asking.topOnce(ctx, c)
}

// snapshot holds the answers of one agent for a single table.
type snapshot struct {
	records []api.Record
	pulls   []api.LivePullRecord
}

func (a asking) topOnce(ctx context.Context, c topConfig) int {
	if c.format != outputTable {
		return a.list(ctx, c.output, c.filter(), nil)
	}
	filter := c.filter()
	answers, failed, err := ofAgents(ctx, a, func(ctx context.Context, agent client.Client) (snapshot, error) {
		records, err := all(ctx, agent, filter)
		if err != nil {
			return snapshot{}, err
		}
		pulls, err := agent.Pulls(ctx)
		return snapshot{records, livePullsOf(pulls.Items, c.namespace)}, err
	})
	if err != nil {
		return a.fail(err)
	}
	now := time.Now()
	board := top.NewBoard(c.since)
	for _, answer := range answers {
		board.Join(answer.Agent.Pod, answer.Agent.Node)
		board.Take(answer.Agent.Pod, client.Event{Kind: client.KindOpen}, now)
		for _, record := range answer.Value.records {
			board.Take(answer.Agent.Pod, client.Event{Kind: client.KindPod, Record: record}, now)
		}
		board.Take(answer.Agent.Pod, client.Event{Kind: client.KindPulls, Pulls: answer.Value.pulls}, now)
	}
	return a.print(strings.Join(board.View(now, c.page(a.Stdout, a.Getenv), 0), "\n")+"\n", failed)
}

const (
	// maxFollowed is how many agents top follows. Each needs a connection, or a stream on one.
	maxFollowed = 200
	// redraw is how often top draws the screen: ages grow, and terminals change their size.
	redraw = 250 * time.Millisecond
	// lookAgain is how often top looks for new agents and for agents that are gone.
	lookAgain = 30 * time.Second
)

// errTooMany means that top cannot follow all agents.
var errTooMany = fmt.Errorf("cannot follow more than %d agents: set --node, or use --once to print one table",
	maxFollowed)

func (a asking) liveTop(ctx context.Context, c topConfig, file *os.File) int {
	ctx, stop := context.WithCancel(ctx)
	f := newFollowers(a, c)
	defer func() {
		stop()
		f.wait()
	}()
	err := f.look(ctx, c.limit)
	if err == nil {
		err = f.onScreen(ctx, file, func() terminal.Page {
			page := c.page(file, a.Getenv)
			page.Cut = true
			return page
		})
	}
	if err != nil && !errors.Is(err, context.Canceled) { // q and SIGINT are how top ends
		return a.fail(err)
	}
	return ExitOK
}

// onScreen restores the terminal, whatever happens.
func (f *followers) onScreen(ctx context.Context, file *os.File, page func() terminal.Page) (err error) {
	screen, err := terminal.Open(os.Stdin, file)
	if err != nil {
		return err
	}
	defer func() {
		if closed := screen.Close(); err == nil {
			err = closed
		}
	}()
	return f.show(ctx, screen, page)
}
