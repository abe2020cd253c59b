package cli

import (
	"context"
	"errors"
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

// topConfig contains the values of the flags of the command top.
type topConfig struct {
	listConfig
	since time.Duration
	once  bool
}

const maxSince = 7 * 24 * time.Hour

func (c *topConfig) table() flags.Table {
	return slices.Concat(flags.Table{
		flags.Switch("once", "", &c.once,
			"print one table and exit. This is the default if standard output is not a terminal"),
		{
			Name: "since", Value: "DURATION", Default: "10m",
			Help: "also show start-ups that completed in the past DURATION. DURATION: at most 7d, in the units s, " +
				"m, h, d",
			Set: flags.Duration(&c.since, maxSince, "at most 7d, for example 10m or 2d"),
		},
	}, c.podTable(), c.listOutput.table(orderNames(topOrders())), c.target.table())
}

func (c *topConfig) check() error {
	if c.once && c.watch {
		return errors.New("--once and --watch cannot be combined: remove one of them")
	}
	return c.listConfig.check()
}

// filterAt returns a filter that selects two groups of start-ups: start-ups in progress, and start-ups that ended at
// most --since before now.
func (c *topConfig) filterAt(now time.Time) client.Filter {
	filter := c.filter()
	filter.Since = now.Add(-c.since)
	return filter
}

// board returns an empty board. A board holds the state of the agents, and formats the output of the command top.
func (c *topConfig) board() *top.Board {
	return top.NewBoard(c.since, top.Layout{
		SortBy: c.sortBy, Wide: c.format == outputWide, NoHeaders: c.noHeaders, Namespace: c.namespace,
		Selected: c.selector != "",
	})
}

func runTop(ctx context.Context, call Call) int {
	var c topConfig
	agentQuery, _, code, ok := begin(call, c.table(), &c.target, c.check, 0)
	if !ok {
		return code
	}
	defer agentQuery.close()
	file, _ := call.Stdout.(*os.File)
	text := c.format == outputTable || c.format == outputWide
	if _, isTerminal := terminal.Width(file); isTerminal && !c.once && text {
		return agentQuery.liveTop(ctx, c, file)
	}
	switch {
	case !text:
		v := startUps(agentQuery.manyNodes(), "", agentQuery.Now)
		v.orders = topOrders()
		return show(ctx, agentQuery, v, c.listOutput, c.limit,
			func(ctx context.Context) ([]api.Record, []error, error) {
				return agentQuery.records(ctx, c.filterAt(agentQuery.Now()))
			})
	case c.watch:
		return show(ctx, agentQuery, topRows(agentQuery.manyNodes(), agentQuery.Now), c.listOutput, c.limit,
			func(ctx context.Context) ([]topRow, []error, error) { return agentQuery.topRows(ctx, c) })
	}
	ctx, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	return agentQuery.topOnce(ctx, c)
}

// snapshot contains the start-ups of one agent, and the image pulls in progress of the same agent.
type snapshot struct {
	records []api.Record
	pulls   []api.LivePullRecord
}

// snapshotOf returns a function that queries the snapshot of one agent.
func (c *topConfig) snapshotOf(now time.Time) func(context.Context, client.Client) (snapshot, error) {
	filter := c.filterAt(now)
	return func(ctx context.Context, agent client.Client) (snapshot, error) {
		records, err := allRecords(ctx, agent, filter)
		if err != nil {
			return snapshot{}, err
		}
		pulls, err := agent.Pulls(ctx)
		return snapshot{records, livePullsOf(pulls.Items, c.namespace)}, err
	}
}

// show replaces the data of an agent on the board with the snapshot.
func (s snapshot) show(board *top.Board, name string, now time.Time) {
	board.Take(name, client.Event{Kind: client.KindOpen}, now)
	board.Take(name, client.Event{Kind: client.KindReset}, now)
	for _, record := range s.records {
		board.Take(name, client.Event{Kind: client.KindPod, Record: record}, now)
	}
	board.Take(name, client.Event{Kind: client.KindPulls, Pulls: s.pulls}, now)
}

func (a agentQuery) topOnce(ctx context.Context, c topConfig) int {
	now := a.Now()
	responses, failed, err := ofAgents(ctx, a, c.snapshotOf(now))
	if err != nil {
		return a.fail(err)
	}
	board := c.board()
	for _, response := range responses {
		board.Join(response.Agent.Pod, response.Agent.Node)
		response.Value.show(board, response.Agent.Pod, now)
	}
	return a.print(strings.Join(board.View(now, c.page(a.Stdout, a.Getenv), 0), "\n")+"\n", failed)
}

func (a agentQuery) liveTop(ctx context.Context, c topConfig, file *os.File) int {
	ctx, stop := context.WithCancel(ctx)
	l := newLiveAgents(a, c)
	defer func() {
		stop()
		l.wait()
	}()
	err := l.look(ctx, c.limit)
	if err == nil {
		err = l.onScreen(ctx, file, func() terminal.Page {
			page := c.page(file, a.Getenv)
			page.Cut = true
			return page
		})
	}
	// It is not an error if the user stops the command `top` with q or SIGINT.
	if err != nil && !errors.Is(err, context.Canceled) {
		return a.fail(err)
	}
	a.noteFallback()
	return ExitOK
}

// onScreen draws the board on the terminal. onScreen restores the terminal before it returns, even after an error.
func (l *liveAgents) onScreen(ctx context.Context, file *os.File, page func() terminal.Page) (err error) {
	screen, err := terminal.Open(os.Stdin, file)
	if err != nil {
		return err
	}
	defer func() {
		if closed := screen.Close(); err == nil {
			err = closed
		}
	}()
	return l.show(ctx, screen, keys(os.Stdin), page)
}
