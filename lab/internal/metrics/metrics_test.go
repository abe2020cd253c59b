package metrics

import (
	"strings"
	"testing"
)

const text = `# HELP a_sum words
a_sum{image_size_in_bytes="0-10MB"} 1.5
a_sum{image_size_in_bytes="10MB-100MB",verb="WATCH"} 20.25
a_sum_other 7
b 1
`

func TestSum(t *testing.T) {
	for want, question := range map[float64][]string{
		21.75: {"a_sum"}, 20.25: {"a_sum", `verb="WATCH"`}, 0: {"none"}, 1.5: {"a_sum", `image_size_in_bytes="0-10MB"`},
		1: {"b"},
	} {
		if sum, err := Sum(text, question[0], question[1:]...); err != nil || sum != want {
			t.Errorf("%q: got %v, %v", question, sum, err)
		}
	}
	if _, err := Sum("a_sum x", "a_sum"); err == nil || !strings.Contains(err.Error(), "a_sum") {
		t.Errorf("error %v", err)
	}
}
