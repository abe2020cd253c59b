package render

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestPullTables(t *testing.T) {
	nodes := []NodePulls{
		{Node: "node-a", PullList: api.PullList{
			Items: []api.LivePullRecord{
				{Namespace: "shop", Pod: "web-0", Container: "app", Image: "registry.example/web:2",
					Registry: "registry.example", Outcome: imagepull.OutcomePulling,
					State: api.PullStatePulling, Age: api.Seconds(75 * time.Second), DoneBytes: 12 << 20,
					TotalBytes: 30 << 20},
				{Namespace: "shop", Pod: "batch", Container: "job", Image: "job:1", Registry: "docker.io",
					Outcome: imagepull.OutcomePulling,
					State:   api.PullStateQueued, Age: api.Seconds(1500 * time.Millisecond), Restart: true},
			},
			Recent: []api.RecentPullRecord{{Namespace: "shop", Pod: "web-0",
				PullRecord: api.PullRecords(startuptest.ColdStart())[1]}},
		}},
		{Node: "node-b", PullList: api.PullList{
			Items: []api.LivePullRecord{{Registry: "ghcr.io", Outcome: imagepull.OutcomeExternal,
				State: api.PullStatePulling, Age: api.Seconds(2 * time.Hour), DoneBytes: 5 << 20}},
			Recent: []api.RecentPullRecord{{Namespace: "shop", Pod: "漢字", PullRecord: api.PullRecord{
				Container: "app", Kind: timeline.KindMain, Image: "gone:1", Outcome: imagepull.OutcomeFailed,
				Failure: imagepull.FailureDNS, Attempt: 3}}},
		}},
	}
	startuptest.Golden(t, *update, "pulls.txt", PullTables(nodes, terminal.Page{}))
	startuptest.Golden(t, *update, "pulls-80-columns.txt",
		PullTables(nodes, terminal.Page{Columns: 80, Fit: true, Color: true}))
	if got := PullTables([]NodePulls{{}}, terminal.Page{}); got != "no pulls in progress\n" {
		t.Errorf("got %q", got)
	}
	got := PullTables([]NodePulls{{PullList: nodes[0].PullList}}, terminal.Page{})
	if strings.Contains(got, "NODE") || !strings.HasPrefix(got, "POD ") {
		t.Errorf("got\n%s", got)
	}
}

func TestLengthText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0 s", 0: "0.0 s", 59990 * time.Millisecond: "1m00s", 59940 * time.Millisecond: "59.9 s",
		time.Minute: "1m00s", 61*time.Minute + 5*time.Second: "1h01m", 100 * time.Hour: "100h00m",
	} {
		if got := LengthText(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}
