package blame

import (
	"strings"
	"testing"
	"time"
)

var day = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func span(from, to float64) Span {
	at := func(s float64) time.Time { return day.Add(time.Duration(s * float64(time.Second))) }
	return Span{at(from), at(to)}
}

func truth(from, to, slack float64, causes ...Cause) Stretch {
	return Stretch{Span: span(from, to), Causes: causes, Slack: time.Duration(slack * float64(time.Second))}
}

func reported(from, to, stated float64, cause Cause, candidates ...Cause) Reported {
	return Reported{
		Span:       span(from, to),
		Cause:      cause,
		Candidates: candidates,
		Error:      time.Duration(stated * float64(time.Second)),
	}
}

func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		truth                                []Stretch
		reported                             []Reported
		right, unattributed, wrong, unjudged float64
	}{
		"correct": {[]Stretch{truth(0, 4, 0, Network)}, []Reported{reported(0, 4, 0, Network)}, 4, 0, 0,
			0},
		"wrong": {[]Stretch{truth(0, 4, 0, Network)}, []Reported{reported(0, 4, 0, Volumes)}, 0, 0, 4,
			0},
		"one of several culprits": {[]Stretch{truth(0, 4, 0, Config, Volumes)}, []Reported{reported(0, 4, 0, Volumes)},
			4, 0, 0, 0},
		"unattributed with the culprit among the candidates": {[]Stretch{truth(0, 4, 0, Network)},
			[]Reported{reported(0, 4, 0, Unknown, Volumes, Network)}, 0, 4, 0, 0},
		"unattributed with other candidates": {[]Stretch{truth(0, 4, 0, Network)},
			[]Reported{reported(0, 4, 0, Unknown, Volumes, Registry)}, 0, 0, 4, 0},
		"unattributed without candidates": {[]Stretch{truth(0, 4, 0, Network)},
			[]Reported{reported(0, 4, 0, Unknown)}, 0, 4, 0, 0},
		"shifted boundary within the error bound": {[]Stretch{truth(0, 4, 0, Network), truth(4, 8, 0, App)},
			[]Reported{reported(0, 4.5, 0.5, Network), reported(4.5, 8, 0.5, App)}, 7.5, 0.5, 0, 0},
		"shifted boundary beyond the error bound": {[]Stretch{truth(0, 4, 0, Network), truth(4, 8, 0, App)},
			[]Reported{reported(0, 5, 0.25, Network), reported(5, 8, 0.25, App)}, 7, 0.25, 0.75, 0},
		"shifted boundary within the slack": {[]Stretch{truth(0, 4, 0.5, Network), truth(4, 8, 0.5, App)},
			[]Reported{reported(0, 4.5, 0, Network), reported(4.5, 8, 0, App)}, 7, 0, 0, 1},
		"shifted boundary beyond the slack": {[]Stretch{truth(0, 4, 0.5, Network), truth(4, 8, 0.5, App)},
			[]Reported{reported(0, 5, 0, Network), reported(5, 8, 0, App)}, 6.5, 0, 0.5, 1},
		"gap as short as the slack": {[]Stretch{truth(0, 4, 0.5, Network), truth(4.5, 8, 0.5, App)},
			[]Reported{reported(0, 8, 0, Network)}, 4.25, 0, 2.75, 1},
		"gap longer than the slack": {[]Stretch{truth(0, 3, 0.5, Network), truth(5, 8, 0.5, App)},
			[]Reported{reported(0, 8, 0, Network)}, 2, 0, 2, 4},
		"short stretch of a third culprit": {[]Stretch{truth(0, 4, 0.5, Network), truth(4, 4.5, 0.5, Kubelet),
			truth(4.5, 8, 0.5, App)}, []Reported{reported(0, 4, 0, Network), reported(4, 8, 0, App)}, 7, 0, 0, 1},
		"large error bound of a wrong cause": {[]Stretch{truth(0, 4, 0, Network)},
			[]Reported{reported(0, 4, 10, Volumes)}, 0, 4, 0, 0},
		"large error bound of the culprit": {[]Stretch{truth(0, 4, 0, Network)},
			[]Reported{reported(0, 4, 10, Network)}, 4, 0, 0, 0},
		"no known cause": {nil, []Reported{reported(0, 4, 0, Network)}, 0, 0, 0, 4},
		"truth beyond the timeline": {[]Stretch{truth(3, 9, 0, Network)},
			[]Reported{reported(0, 4, 0, Network)}, 1, 0, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := Judge(test.reported, test.truth)
			for _, each := range []struct {
				what string
				got  time.Duration
				want float64
			}{{"right", s.Right, test.right}, {"unattributed", s.Unattributed, test.unattributed},
				{"wrong", s.Wrong, test.wrong},
				{"unjudged", s.Unjudged, test.unjudged}} {
				if each.got.Seconds() != each.want {
					t.Errorf("%s: %v s, want %v", each.what, each.got.Seconds(), each.want)
				}
			}
			if (len(s.Findings) > 0) != (test.wrong > 0) {
				t.Errorf("%d findings, %v s wrong", len(s.Findings), test.wrong)
			}
		})
	}
}

func TestLay(t *testing.T) {
	laid := Lay(truth(0, 10, 0, Kubelet), truth(2, 4, 0, Config), truth(3, 6, 0, Volumes), truth(7, 7, 0, App))
	want := []Stretch{
		truth(0, 2, 0, Kubelet),
		truth(2, 3, 0, Config),
		truth(3, 6, 0, Volumes),
		truth(6, 10, 0, Kubelet),
	}
	if len(laid) != len(want) {
		t.Fatalf("%d stretches: %+v", len(laid), laid)
	}
	for i := range want {
		if laid[i].Span != want[i].Span || laid[i].Causes[0] != want[i].Causes[0] {
			t.Errorf("stretch %d is %+v, want %+v", i, laid[i], want[i])
		}
	}
}

func TestAddScoresAndMatrices(t *testing.T) {
	var sum Score
	sum.Add(Judge([]Reported{reported(0, 4, 0, Volumes)}, []Stretch{truth(0, 4, 0, Network)}))
	sum.Add(Judge([]Reported{reported(0, 3, 0, Network)}, []Stretch{truth(0, 3, 0, Network)}))
	if sum.Right != 3*time.Second || sum.Wrong != 4*time.Second || sum.Judged() != 7*time.Second ||
		len(sum.Findings) != 1 {
		t.Errorf("%+v", sum)
	}
	if got := sum.Cells.Of(Network, Volumes); got != 4*time.Second {
		t.Errorf("network blamed on volumes: %s", got)
	}
	var text strings.Builder
	sum.Cells.Print(&text)
	if want := "culprit         volumes    network\nnetwork             4.0        3.0\n"; text.String() != want {
		t.Errorf("printed\n%s", text.String())
	}
}
