package scenario

import (
	"strings"
	"testing"
)

func TestJudgeMemory(t *testing.T) {
	for name, test := range map[string]struct {
		more    []size // KiB
		problem string
	}{
		"equal":         {[]size{-100, 0, 100}, ""},
		"less":          {[]size{-5000, -5100, -5200}, ""},
		"more":          {[]size{2000, 2010, 2020}, "want at most 1.00 MiB more"},
		"inconclusive":  {[]size{-3000, 0, 3000}, "run the scenario alone"},
		"slightly more": {[]size{500, 510, 520}, ""},
	} {
		for i := range test.more {
			test.more[i] <<= 10
		}
		var v Verdict
		judgeMemory(&v, name, pair(test.more))
		if got := strings.Join(v.Problems, "; "); (got == "") != (test.problem == "") ||
			!strings.Contains(got, test.problem) || v.Compared != 1 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestJudgeSeries(t *testing.T) {
	const text = "# HELP a is\n# TYPE a counter\na{x=\"1 2\"} 5\na{x=\"3\"} 6\nb " +
		"7\npodlapse_build_info{version=\"1\"} 1\n"
	for name, test := range map[string]struct {
		now      string
		problems int
	}{
		"other values": {"a{x=\"1 2\"} 6\na{x=\"3\"} 7\nb 0\npodlapse_build_info{version=\"2\"} 1\n", 0},
		"one new":      {text + "c 1\n", 1},
		"one missing":  {"a{x=\"1 2\"} 6\nb 0\n", 1},
		"other label":  {"a{x=\"1 3\"} 6\na{x=\"3\"} 7\nb 0\n", 2},
	} {
		var v Verdict
		judgeSeries(&v, seriesOf(text), seriesOf(test.now))
		if len(v.Problems) != test.problems || v.Compared != 1 {
			t.Errorf("%s: %+v", name, v)
		}
	}
	var v Verdict
	if judgeSeries(&v, nil, nil); len(v.Problems) != 1 {
		t.Errorf("without series: %+v", v)
	}
}
