package terminal

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"
)

func TestYAML(t *testing.T) {
	type inner struct {
		Name string   `json:"name"`
		List []string `json:"list"`
	}
	value := struct {
		Z      string           `json:"z"`
		Number json.Number      `json:"number"`
		Inner  inner            `json:"inner"`
		Many   []inner          `json:"many"`
		Nested [][]int          `json:"nested"`
		None   []int            `json:"none"`
		Empty  map[string]int   `json:"empty"`
		Null   *int             `json:"null"`
		Truth  map[string]inner `json:"truth"`
	}{"on", "12.000000001", inner{"web-0", []string{"a b", hostile}}, []inner{{"x", []string{}}, {"y", nil}},
		[][]int{{1, 2}, {}},
		[]int{}, map[string]int{}, nil, map[string]inner{"y": {"~", nil}}}
	const want = `z: "on"
number: 12.000000001
inner:
  name: web-0
  list:
    - "a b"
    - "a\u001b[2J\u001b]0;t\u0007\u202eb\u0301\u200f\n\r\u2028\u009b31mc�<script>漢"
many:
  - name: x
    list: []
  - name: "y"
    list: null
nested:
  - - 1
    - 2
  - []
none: []
empty: {}
"null": null
truth:
  "y":
    name: "~"
    list: null
`
	if got, err := YAML(value); got != want || err != nil {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}

func TestJSON(t *testing.T) {
	got, err := JSON(map[string]string{"a": hostile + "\U000e0001\U0001f600"})
	want := "{\n  \"a\": \"a\\u001b[2J\\u001b]0;t\\u0007\\u202eb\\u0301\\u200f\\n\\r" +
		"\\u2028\\u009b31mc\\ufffd<script>漢\\udb40\\udc01\U0001f600\"\n}\n"
	if got != want || err != nil {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}

// FuzzEscape checks that only visible characters are printed, and that a parser reads the original value.
func FuzzEscape(f *testing.F) {
	f.Add(hostile, "key")
	f.Add("\U000e0001 # no comment", "- a")
	f.Add("0x1f", "1e3")
	f.Add("<<", "=")
	f.Add("a", strings.Repeat("key ", 400))
	f.Fuzz(func(t *testing.T, text, key string) {
		text, key = strings.ToValidUTF8(text, "\ufffd"), strings.ToValidUTF8(key, "\ufffd")
		value := map[string]any{key: []any{text, map[string]any{key: text}}}
		asJSON, err := JSON(value)
		if err != nil {
			t.Fatal(err)
		}
		asYAML, err := YAML(value)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range asJSON + asYAML {
			if !Printable(r) && r != '\n' {
				t.Fatalf("%q was printed in\n%s%s", r, asJSON, asYAML)
			}
		}
		var back any
		if err := json.Unmarshal([]byte(asJSON), &back); err != nil || !reflect.DeepEqual(back, any(value)) {
			t.Errorf("%v: JSON\n%s", err, asJSON)
		}
		var read map[string]any
		if err := yaml.Unmarshal([]byte(asYAML), &read); err != nil ||
			fmt.Sprintf("%q", read[key]) != fmt.Sprintf("%q", []any{text, map[any]any{key: text}}) {
			t.Errorf("%v: YAML\n%s%q", err, asYAML, read)
		}
	})
}
