package blame

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func at(s float64) time.Time { return day.Add(time.Duration(s * float64(time.Second))) }

// text formats stretches as lines that a reader of the test can check.
func text(stretches []Stretch) string {
	var lines []string
	for _, s := range stretches {
		lines = append(lines,
			fmt.Sprintf("%g-%g %s", s.From.Sub(day).Seconds(), s.To.Sub(day).Seconds(), strings.Join(s.Causes, "/")))
	}
	return strings.Join(lines, "\n")
}

var ordinarySandboxCall = Call{Span: span(2, 5), Kind: Sandbox, Network: []Span{span(3, 4)}}

func ordinaryAccount() Account {
	return Account{CreatedAt: at(0), BoundAt: at(0.5), PickedUpAt: at(1), Until: at(30),
		Calls: []Call{ordinarySandboxCall,
			{Span: span(6, 7), Kind: Create, Container: "main"}, {Span: span(7, 8), Kind: Start, Container: "main"}},
		Runs: []Run{{Container: "main", BegunAt: at(7.5), ReadyAt: at(10)}}}
}

var begunStretches = "0-0.5 scheduler\n0.5-1 kubelet\n1-2 volumes/kubelet\n"

var ordinaryStretches = begunStretches + "2-3 network/runtime\n3-4 network\n4-4.2 runtime/network\n4.2-5 runtime\n"

var stretchesTests = map[string]struct {
	change func(*Account)
	want   string
}{
	"ordinary": {func(*Account) {}, ordinaryStretches +
		"5-6 kubelet\n6-7 runtime\n7-7.5 runtime\n7.5-8 runtime/app\n8-10 app"},
	"process that waits for a CPU before its first line": {func(a *Account) {
		a.Runs[0].Waited = 100 * time.Millisecond
	}, ordinaryStretches + "5-6 kubelet\n6-7 runtime\n7-7.4 runtime\n7.4-8 runtime/app\n8-10 app"},
	"process that starts long before its first line": {func(a *Account) {
		a.Runs[0].StartedAt, a.Runs[0].BegunAt = at(7.2), at(7.9)
	}, ordinaryStretches + "5-6 kubelet\n6-7 runtime\n7-7.2 runtime\n7.2-8 runtime/app\n8-10 app"},
	"process without a first line": {func(a *Account) {
		a.Runs[0].StartedAt, a.Runs[0].BegunAt = at(7.2), time.Time{}
	}, ordinaryStretches + "5-6 kubelet\n6-7 runtime\n7-7.2 runtime\n7.2-8 runtime/app\n8-10 app"},
	"process without any evidence of its start": {func(a *Account) {
		a.Runs[0].BegunAt = time.Time{}
	}, ordinaryStretches + "5-6 kubelet\n6-7 runtime\n7-8 runtime\n8-10 app"},
	"runtime that waits for a CPU before it reads the network plugin's result": {func(a *Account) {
		a.Calls[0].NetworkWaited = 100 * time.Millisecond
	}, begunStretches + "2-3 network/runtime\n3-4 network\n4-4.3 runtime/network\n4.3-5 runtime\n" +
		"5-6 kubelet\n6-7 runtime\n7-7.5 runtime\n7.5-8 runtime/app\n8-10 app"},
	"runtime that waits for a CPU before it logs that the sandbox runs": {func(a *Account) {
		a.Calls[0].ReturnWaited = 100 * time.Millisecond
	}, begunStretches + "2-3 network/runtime\n3-4 network\n4-4.2 runtime/network\n4.2-4.9 runtime\n" +
		"4.9-5 runtime/kubelet\n5-6 kubelet\n6-7 runtime\n7-7.5 runtime\n7.5-8 runtime/app\n8-10 app"},
	"runtime that waits for a CPU before it logs a call": {func(a *Account) {
		a.Calls[1].Waited = 100 * time.Millisecond
	}, ordinaryStretches + "5-5.9 kubelet\n5.9-6 kubelet/runtime\n6-7 runtime\n7-7.5 runtime\n7.5-8 runtime/app\n" +
		"8-10 app"},
	"pull": {func(a *Account) {
		a.Requested = []Request{{"main", at(5.5)}}
		a.Calls = []Call{ordinarySandboxCall, {Span: span(6, 9), Kind: Pull, Container: "main", LastByteAt: at(8)}}
	}, ordinaryStretches + "5-5.5 kubelet\n5.5-6 pull_queue\n6-8 registry\n8-8.2 disk/registry\n8.2-9 disk"},
	"pull that fails": {func(a *Account) {
		a.Requested = []Request{{"main", at(5.5)}, {"main", at(19)}}
		a.Calls = []Call{ordinarySandboxCall, {Span: span(6, 9), Kind: Pull, Container: "main", Failed: true},
			{Span: span(20, 22), Kind: Pull, Container: "main", LastByteAt: at(22)}}
	},
		ordinaryStretches +
			"5-5.5 kubelet\n5.5-6 pull_queue\n6-9 registry\n9-19 backoff\n19-20 pull_queue\n20-22 registry"},
	"pull that fails before the kubelet logs its request": {func(a *Account) {
		a.Requested = []Request{{"main", at(6.2)}, {"main", at(19)}}
		a.Calls = []Call{ordinarySandboxCall, {Span: span(6, 6.1), Kind: Pull, Container: "main", Failed: true},
			{Span: span(20, 22), Kind: Pull, Container: "main", LastByteAt: at(22)}}
	},
		ordinaryStretches +
			"5-6 kubelet\n6-6.1 registry\n6.1-19 backoff\n19-20 pull_queue\n20-22 registry"},
	"request for a pull that never began": {func(a *Account) {
		a.Requested = []Request{{"main", at(5.2)}, {"main", at(5.5)}}
		a.Calls = []Call{ordinarySandboxCall, {Span: span(6, 9), Kind: Pull, Container: "main", LastByteAt: at(8)}}
	}, ordinaryStretches + "5-5.5 kubelet\n5.5-6 pull_queue\n6-8 registry\n8-8.2 disk/registry\n8.2-9 disk"},
	"network plugin that fails": {func(a *Account) {
		a.Calls = []Call{{Span: span(2, 3), Kind: Sandbox, Failed: true, NetworkFailed: true},
			{Span: span(7, 8), Kind: Sandbox}}
	}, begunStretches + "2-3 network\n3-7 network/backoff\n7-8 runtime"},
	"pause image": {func(a *Account) {
		a.Calls = []Call{{Span: span(2, 9), Kind: Sandbox, Network: []Span{span(3, 4)}, PauseImage: span(5, 8)}}
	}, begunStretches + "2-3 network/runtime\n3-4 network\n4-4.2 runtime/network\n4.2-5 runtime\n" +
		"5-8 registry\n8-9 runtime"},
	"init container": {func(a *Account) {
		a.Calls = []Call{ordinarySandboxCall, {Span: span(6, 7), Kind: Start, Container: "init"},
			{Span: span(12, 13), Kind: Create, Container: "main"}}
		a.Runs = []Run{{Container: "init", Init: true, BegunAt: at(7), ExitedAt: at(10), ExitSeenAt: at(11)}}
	}, ordinaryStretches + "5-6 kubelet\n6-7 runtime\n7-10 app\n10-11 runtime\n11-12 kubelet\n12-13 runtime"},
	"crash": {func(a *Account) {
		a.Calls = []Call{ordinarySandboxCall, {Span: span(6, 7), Kind: Start, Container: "main"},
			{Span: span(20, 21), Kind: Start, Container: "main", Attempt: 1}}
		a.Runs = []Run{{Container: "main", BegunAt: at(7), ExitedAt: at(9)},
			{Container: "main", Attempt: 1, BegunAt: at(21), ReadyAt: at(25)}}
		a.BackedOff = []Request{{"other", at(9.5)}, {"main", at(10)}}
	},
		ordinaryStretches +
			"5-6 kubelet\n6-7 runtime\n7-9 app\n9-10 backoff/kubelet\n10-20 backoff\n20-21 runtime\n21-25 app"},
	"gate": {func(a *Account) {
		a.BoundAt = at(0.8)
		a.Faults = []Fault{{Causes: []Cause{Gate}, FixedAt: at(0.6)}}
	}, "0-0.6 gate\n0.6-0.8 scheduler\n0.8-1 kubelet\n1-2 volumes/kubelet\n2-3 network/runtime\n3-4 " +
		"network\n4-4.2 runtime/network\n4.2-5 runtime\n5-6 kubelet\n6-7 runtime\n7-7.5 runtime\n7.5-8 " +
		"runtime/app\n8-10 app"},
	"configuration": {func(a *Account) {
		a.Calls = []Call{ordinarySandboxCall}
		a.PickedUpAt, a.Faults = at(1),
			[]Fault{{Causes: []Cause{Config}, FixedAt: at(1.5), Then: []Cause{Config, Volumes}}}
	}, "0-0.5 scheduler\n0.5-1 kubelet\n1-1.5 config\n1.5-2 config/volumes\n2-3 network/runtime\n3-4 " +
		"network\n4-4.2 runtime/network\n4.2-5 runtime"},
	"containerd stopped while a container is made": {func(a *Account) {
		a.Stopped = []Stop{{Span: span(3.5, 6.5)}}
	},
		begunStretches + "2-3 network/runtime\n3-4 network\n4-4.2 runtime\n4.2-5 runtime\n5-6 runtime\n6-6.5 " +
			"runtime\n6.5-7 runtime\n7-7.5 runtime\n7.5-8 runtime/app\n8-10 app"},
	"containerd stopped amid a pull": {func(a *Account) {
		a.Calls = []Call{ordinarySandboxCall, {Span: span(6, 12), Kind: Pull, Container: "main", LastByteAt: at(9)}}
		a.Stopped = []Stop{{Span: span(8, 11)}}
	}, ordinaryStretches + "5-6 kubelet\n6-8 registry\n8-9 registry/runtime\n9-9.2 runtime\n9.2-11 " +
		"runtime\n11-11.2 disk/registry/runtime\n11.2-12 disk"},
	"containerd restarted amid a pull": {func(a *Account) {
		a.Calls = []Call{ordinarySandboxCall, {Span: span(6, 11), Kind: Pull, Container: "main", Failed: true},
			{Span: span(20, 21), Kind: Pull, Container: "main", Failed: true}}
		a.Stopped = []Stop{{Span: span(8, 11), Ended: true}}
	},
		ordinaryStretches +
			"5-6 kubelet\n6-8 registry\n8-11 backoff/runtime\n11-20 backoff\n20-21 registry\n21-30 backoff"},
}

func TestStretches(t *testing.T) {
	for name, test := range stretchesTests {
		t.Run(name, func(t *testing.T) {
			a := ordinaryAccount()
			test.change(&a)
			got := text(a.Stretches())
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	byStart := func(x, y Stretch) int { return x.From.Compare(y.From) }
	if a := ordinaryAccount(); !slices.IsSortedFunc(a.Stretches(), byStart) {
		t.Error("not in the order of time")
	}
}
