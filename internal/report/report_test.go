package report

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// start is a start-up with known truth. All durations are in seconds.
type start struct {
	node, owner                  string
	state                        timeline.State // ready if empty
	network, config, pull, ready int
	registry, image              string
	size                         int64 // MiB
	failedPulls                  int
}

func seconds(s int) api.Seconds { return api.Seconds(time.Duration(s) * time.Second) }

func (s start) record() api.Record {
	r := api.Record{Namespace: "shop", Name: s.owner + "-0", Node: s.node, State: s.state,
		Owner: api.OwnerRecord{Kind: "Deployment", Name: s.owner}}
	if r.State == "" {
		r.State = timeline.StateReady
	}
	for _, p := range []struct {
		phase   timeline.Phase
		seconds int
	}{{timeline.PhaseNetwork, s.network}, {timeline.PhaseContainerConfig, s.config}, {timeline.PhasePull, s.pull},
		{timeline.PhaseReadinessProbe, s.ready}} {
		if p.seconds > 0 {
			r.Phases = append(r.Phases, api.PhaseRecord{Phase: p.phase, Cause: timeline.CauseOf(p.phase),
				Length: seconds(p.seconds)})
			r.Total += seconds(p.seconds)
		}
	}
	if r.State != timeline.StateStarting {
		r.SettledAt = api.InstantOf(noon.Add(-time.Hour))
	}
	for range s.failedPulls {
		r.Pulls = append(r.Pulls, api.PullRecord{Container: "app", Image: s.image, Registry: s.registry,
			Outcome: imagepull.OutcomeFailed, FinishedAt: r.SettledAt})
	}
	if s.pull > 0 {
		r.Pulls = append(r.Pulls, api.PullRecord{Container: "app", Image: s.image, Registry: s.registry,
			Outcome: imagepull.OutcomeDownloaded, Pull: new(seconds(s.pull)), FinishedAt: r.SettledAt,
			Sized: s.size > 0, SizeBytes: s.size << 20, Download: &api.DownloadRecord{Bytes: s.size << 20}})
	}
	return r
}

func several(n int, s start) []start { return slices.Repeat([]start{s}, n) }

// reportOf adds up the start-ups of each node in a random order.
func reportOf(random *rand.Rand, starts ...[]start) Report {
	all := slices.Concat(starts...)
	random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	sums, f := map[string]*tally.Sums{}, NewFleet(noon.Add(-24*time.Hour), noon)
	for _, s := range all {
		if sums[s.node] == nil {
			sums[s.node] = tally.NewSums(s.node)
		}
		sums[s.node].Add(s.record())
	}
	for node, s := range sums { // in random order
		record := s.Record()
		record.Since = api.InstantOf(noon.Add(-24 * time.Hour))
		f.Add(node, record)
	}
	return f.Report(5)
}

func orders() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func (s Section) text() string {
	var lines []string
	for _, row := range s.Rows {
		lines = append(lines, row.Sentence)
	}
	return strings.Join(lines, "\n")
}

// TestTruth has four causes with known culprits: the network of node b, the registry slow.example, the large image big,
// and the ConfigMap of the workload broken. The expected values come from the definition of lost time.
func TestTruth(t *testing.T) {
	normal := func(node, owner string) start {
		return start{node: node, owner: owner, network: 1, pull: 2, ready: 3, registry: "r.example",
			image: "r.example/" + owner, size: 20}
	}
	var starts []start
	for _, node := range []string{"a", "b", "c"} {
		for _, owner := range []string{"one", "two", "far", "big", "broken"} {
			s := normal(node, owner)
			switch owner {
			case "far":
				s.pull, s.registry, s.image = 20, "slow.example", "slow.example/far"
			case "big":
				s.pull, s.size = 12, 120
			case "broken":
				s.config = 60
			}
			if node == "b" {
				s.network = 11
			}
			starts = append(starts, several(4, s)...)
		}
	}
	var first Report
	for n := range 3 {
		r := reportOf(orders(), starts)
		if n == 0 {
			first = r
		} else if !reflect.DeepEqual(r, first) {
			t.Fatalf("the report depends on the order:\n%+v\n%+v", r, first)
		}
	}
	// registry: far loses 20 - (2+2+12+2)/4 s in each start-up, and big loses 12 - (2+2+20+2)/4 s: 12 * (15.5 + 5.5) s.
	// network: all start-ups on node b lose 11 - 1 s: 20 * 10 s. The 5 workloads lose 40 s each.
	// On each node, 16 pulls of 720 MiB from r.example take 72 s. So 4 pulls of 80 MiB take (72-8)*80/720 + 2 = 9.1 s.
	for got, want := range map[string]string{
		first.Causes.text(): "config: 720 s lost of 720 s; most in deployment shop/broken on node a (240 s)\n" +
			"registry: 252 s lost of 456 s; most in deployment shop/far on node a (62 s)\n" +
			"network: 200 s lost of 260 s; most in deployment shop/big on node b (40 s)",
		first.Nodes.text(): "node b: 11.0 times slower than the other nodes; 200 s lost in 20 start-ups, most in " +
			"network (200 s)",
		first.Registries.text(): "registry slow.example: 8.8 times slower per byte than the other registries; 213 s " +
			"lost in 12 pulls of 240.0 MiB",
		first.Images.text(): "image slow.example/far: 4.4 times the time per pull of the other images; 186 s lost " +
			"in 12 " +
			"pulls; 20.0 MiB per pull, 10.0 times the time per byte of the other images\n" +
			"image r.example/big: 1.8 times the time per pull of the other images; 66 s lost in 12 pulls; 120.0 MiB " +
			"per " +
			"pull, 0.3 times the time per byte of the other images",
		first.Workloads.text(): "deployment shop/broken: 11.6 times the time that the others need; 760 s lost in 12 " +
			"start-ups, most in config (720 s)\n" +
			"deployment shop/far: 3.2 times the time that the others need; 226 s lost in 12 start-ups, most in " +
			"registry " +
			"(186 s)\n" +
			"deployment shop/big: 1.8 times the time that the others need; 106 s lost in 12 start-ups, most in " +
			"registry " +
			"(66 s)\n" +
			"deployment shop/one: 1.6 times the time that the others need; 40 s lost in 12 start-ups, most in " +
			"network " +
			"(40 s)\n" +
			"deployment shop/two: 1.6 times the time that the others need; 40 s lost in 12 start-ups, most in " +
			"network " +
			"(40 s)",
		first.Summary: "2026-03-01 12:00 to 2026-03-02 12:00 UTC: 3 nodes, 60 start-ups (0 unsuccessful), 0 in " +
			"progress. The start-ups took 1616 s. 1172 s of this time was lost, including random differences.",
	} {
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestUnfinishedStartUps checks that start-ups in progress and failed start-ups lose time, but that their missing
// phases do not make other workloads look slow.
func TestUnfinishedStartUps(t *testing.T) {
	fine := start{node: "a", owner: "fine", network: 1, ready: 9}
	other := start{node: "a", owner: "other", network: 1, ready: 9}
	stuck := start{node: "a", owner: "stuck", network: 1, config: 300, state: timeline.StateStarting}
	given := start{node: "a", owner: "stuck", network: 1, config: 100, state: timeline.StateDeleted}
	r := reportOf(orders(), several(10, fine), several(10, other), several(3, stuck), several(2, given))
	// Like the others, five start-ups would need 50 s.
	want := "deployment shop/stuck: 23.0 times the time that the others need; 1100 s lost in 5 start-ups, most in " +
		"config " +
		"(1100 s); 2 start-ups unsuccessful; 3 start-ups in progress"
	if got := r.Workloads.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := r.Causes.text(); got != "config: 1100 s lost of 1100 s; most in deployment shop/stuck on node a (1100 "+
		"s)" {
		t.Errorf("got\n%s", got)
	}
	if r.StartUps != 22 || r.Failures != 2 || r.InProgress != 3 || r.Seconds != seconds(1305) ||
		r.Lost != seconds(1100) {
		t.Errorf("%+v", r)
	}
}

// TestNoComparison checks that the report names nothing if there is nothing to compare with.
func TestNoComparison(t *testing.T) {
	one := start{node: "a", owner: "one", network: 5, pull: 9, registry: "r.example", image: "r.example/one", size: 9}
	other := one
	other.owner, other.network, other.image = "other", 50, "r.example/other"
	for name, test := range map[string]struct {
		starts []start
		notes  [5]string // causes, nodes, registries, images, workloads
	}{
		"nothing": {nil, [5]string{"no start-ups in this time", "no node is slower than the other nodes",
			noPulls, noPulls, "no start-ups in this time"}},
		"one workload": {several(20, one), [5]string{"a single workload on a single node has nothing to compare with",
			"only one agent responded, so there is no other node to compare with",
			"too few other pulls with known bytes to compare with",
			"a single image has no other images to compare with",
			"a single workload has no other workloads to compare with"}},
		"too few": {append(several(4, one), several(4, other)...), [5]string{
			"too few successful start-ups for a comparison",
			"only one agent responded, so there is no other node to compare with",
			"too few other pulls with known bytes to compare with",
			"too few pulls for a comparison",
			"too few successful start-ups for a comparison"}},
	} {
		r := reportOf(orders(), test.starts)
		for i, part := range r.Parts() {
			if len(part.Rows) > 0 || part.Note != test.notes[i] {
				t.Errorf("%s: %s: %q, note %q, want %q", name, part.Heading, part.text(), part.Note, test.notes[i])
			}
		}
	}
}

// TestTooFewStartUps has three start-ups. One of them is much slower, but three start-ups are too few for a comparison.
// The report must not state that no start-up is slower.
func TestTooFewStartUps(t *testing.T) {
	f := NewFleet(noon.Add(-24*time.Hour), noon)
	for node, pull := range map[string]int{"a": 10, "b": 10, "c": 300} {
		sums := tally.NewSums(node)
		sums.Add(start{node: node, owner: "on-" + node, pull: pull, registry: "r.example", image: "r.example/" + node,
			size: 10}.record())
		f.Add(node, sums.Record())
	}
	r := f.Report(5)
	for _, section := range []Section{r.Causes, r.Images, r.Workloads} {
		if len(section.Rows) > 0 || !strings.HasPrefix(section.Note, "too few") {
			t.Errorf("%+v", section)
		}
	}
	if strings.Contains(r.Summary, "lost") {
		t.Error(r.Summary)
	}
}

// TestFailedPulls checks that a registry whose pulls all fail is part of the report, although it has no factor.
func TestFailedPulls(t *testing.T) {
	bad := start{node: "a", owner: "bad", network: 1, registry: "down.example", image: "down.example/x", failedPulls: 3,
		state: timeline.StateDeleted}
	r := reportOf(orders(), several(2, bad))
	for got, want := range map[string]string{
		r.Registries.text(): "registry down.example: no measured download; 6 pulls failed",
		r.Images.text():     "image down.example/x: no measured download; 6 pulls failed",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestManyRows checks the limit of rows, and that combined items have no row.
func TestManyRows(t *testing.T) {
	f := NewFleet(noon.Add(-24*time.Hour), noon)
	sums := tally.NewSums("a")
	for i := range 20 {
		for range 10 {
			sums.Add(start{node: "a", owner: fmt.Sprintf("w%02d", i), network: 1 + i}.record())
		}
	}
	record := sums.Record()
	record.Items = append(record.Items, api.ReportItem{Kind: api.ReportWorkload, Other: true, StartUps: 1,
		Total: seconds(1), Causes: []api.CauseTotals{{Cause: timeline.CauseNetwork, Length: seconds(1)}}})
	record.Since = api.InstantOf(noon.Add(-time.Hour))
	f.Add("a", record)
	r := f.Report(3)
	if len(r.Workloads.Rows) != 3 || r.Workloads.Rows[0].Name != "deployment shop/w19" || r.Workloads.More != 7 {
		t.Errorf("%d rows and %d more: %s", len(r.Workloads.Rows), r.Workloads.More, r.Workloads.text())
	}
	if len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "1 node has sums for only a part") {
		t.Errorf("notes %q", r.Notes)
	}
	r.RequestFailed([]string{"b", "c"}, 3, 2)
	if got := strings.Join(r.Notes[1:], "\n"); got != "the report lacks 3 agents without a valid response: b, c\n"+
		"the report lacks 2 agents that were not queried in time: set a longer --timeout" {
		t.Errorf("notes %q", got)
	}
}

// TestHTML checks that names cannot add markup, and that the page loads nothing.
func TestHTML(t *testing.T) {
	const hostile = `<script>alert(1)</script>"'&\u202e`
	r := reportOf(orders(), several(10, start{node: "a", owner: "fine", network: 1}),
		several(9, start{node: "a", owner: hostile, network: 100}))
	r.RequestFailed([]string{hostile}, 1, 0)
	text, err := HTML(r, func(text string) string { return strings.ReplaceAll(text, "\u202e", "") })
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "http:", "https:", "\u202e", "src=", "href=", "<nil>"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page contains %q:\n%s", bad, text)
		}
	}
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", "<h2>WORST WORKLOADS</h2>",
		`<td class="number">891 s</td><td class="number">100.0</td>`, "only one agent responded"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// BenchmarkFleet has 200 nodes with 60 workloads each.
func BenchmarkFleet(b *testing.B) {
	var records []api.ReportRecord
	for n := range 200 {
		sums := tally.NewSums(fmt.Sprint("node-", n))
		for w := range 60 {
			owner := fmt.Sprint("w", w)
			sums.Add(start{node: fmt.Sprint("node-", n), owner: owner, network: 1 + n%3, pull: 1 + w, ready: 3,
				registry: "r.example", image: "r.example/" + owner, size: 20}.record())
		}
		records = append(records, sums.Record())
	}
	b.ReportAllocs()
	for b.Loop() {
		f := NewFleet(noon.Add(-24*time.Hour), noon)
		for _, r := range records {
			f.Add(r.Node, r)
		}
		if r := f.Report(5); len(r.Workloads.Rows) != 5 {
			b.Fatal(r.Workloads)
		}
	}
}
