package monitoring

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestFasterRules(t *testing.T) {
	const rules = `groups:
- name: g
  interval: 1m
  rules:
  - record: level:x:increase1h
    expr: increase(x{for="5m"}[1h] offset 1d) > 3600 and time() - y < 3600
    labels: {for: 5m}
  - alert: A
    expr: sum_over_time(level:x:increase1h[1d:1h] offset 1h) > 5
    for: 5m
    annotations: {summary: in 1h}
`
	const want = `groups:
    - name: g
      interval: 2s
      rules:
        - record: level:x:increase1h
          expr: increase(x{for="5m"}[2m] offset 48m) > 3600 and time() - y < 120
          labels: {for: 5m}
        - alert: A
          expr: sum_over_time(level:x:increase1h[48m:2m] offset 2m) > 5
          for: 10s
          annotations: {summary: in 1h}
`
	got, err := Faster([]byte(rules), 30)
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%s", err, got)
	}
	for _, broken := range []string{"groups: [", "groups: [{interval: soon}]", "groups: [{rules: [{expr: 'sum('}]}]"} {
		if _, err := Faster([]byte(broken), 30); err == nil {
			t.Errorf("%s: want an error", broken)
		}
	}
}

// With the factor 1, Faster returns unchanged rules. With the factor 30, the rules are still valid.
func TestFasterRulesStayValid(t *testing.T) {
	original := read(t, manifests, "rules.yaml")
	same, err := Faster(original, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, b := ruleExpressions(t, original), ruleExpressions(t, same)
	for i := range a {
		if one, other := parse(t, a[i]), parse(t, b[i]); one.String() != other.String() || other.String() != b[i] {
			t.Errorf("%s became %s", one, other)
		}
	}
	fast, err := Faster(original, 30)
	if err != nil {
		t.Fatal(err)
	}
	for _, slow := range []string{"[1h]", "[15m]", "offset 1h", "for: 5m", "interval: 1m", "< 3600"} {
		if bytes.Contains(fast, []byte(slow)) {
			t.Errorf("the faster rules contain %s", slow)
		}
	}
	promtool := promtool(t)
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, fast, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func ruleExpressions(t *testing.T, text []byte) (all []string) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			all = append(all, strings.TrimSpace(r.Expr))
		}
	}
	if len(all) == 0 {
		t.Fatal("no rules")
	}
	return all
}
