package monitoring

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite manifests/monitoring/dashboard.json")

func TestDashboardFile(t *testing.T) {
	made, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	const path = manifests + "/dashboard.json"
	if *update {
		if err := os.WriteFile(path, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, made) {
		t.Errorf("%s differs from the panels (%v); run go test ./internal/monitoring -update in lab/", path, err)
	}
}

// A collapsed row contains its panels. All other panels follow their rows. All panels must have different IDs.
func TestCollapsedRowsContainTheirPanels(t *testing.T) {
	type made struct {
		ID          int
		Type, Title string
		Collapsed   bool
		Panels      []made
		GridPos     struct{ X, Y, W, H int }
	}
	var dashboard struct{ Panels []made }
	if err := json.Unmarshal(read(t, manifests, "dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	ids, collapsed, bottom := map[int]bool{}, 0, 0
	seen := func(p made) {
		if ids[p.ID] {
			t.Errorf("two panels have the ID %d", p.ID)
		}
		ids[p.ID] = true
	}
	for _, p := range dashboard.Panels {
		seen(p)
		if p.Type == "row" && p.GridPos.Y < bottom {
			t.Errorf("row %s overlaps the panels above it", p.Title)
		}
		if p.Collapsed != (len(p.Panels) > 0) {
			t.Errorf("row %s: collapsed %t, %d panels inside", p.Title, p.Collapsed, len(p.Panels))
		}
		for _, inside := range p.Panels {
			seen(inside)
			if inside.GridPos.Y <= p.GridPos.Y {
				t.Errorf("row %s: panel %s is above its row", p.Title, inside.Title)
			}
		}
		if p.Collapsed {
			collapsed++
		}
		bottom = max(bottom, p.GridPos.Y+p.GridPos.H)
	}
	if collapsed != 2 {
		t.Errorf("%d collapsed rows, want 2", collapsed)
	}
}

// The placeholders replace Grafana's variables only while the parser reads an expression. The dashboard must not
// contain the placeholders.
func TestDashboardUsesItsVariables(t *testing.T) {
	made := string(read(t, manifests, "dashboard.json"))
	for _, variable := range []string{"$cluster", "$node", "$registry", "$namespace", "$top", "$__range"} {
		if !strings.Contains(made, variable) {
			t.Errorf("the dashboard does not use the variable %s", variable)
		}
	}
	limit := regexp.MustCompile(`(top|bottom)k\([^$,]*,`).FindAllString(made, -1)
	if len(limit) > 1 { // only the table of pods has a fixed limit
		t.Errorf("panels have fixed limits: %q", limit)
	}
	for _, place := range []string{topPlace, rangePlace, "e+"} {
		if strings.Contains(made, place) {
			t.Errorf("the dashboard contains the placeholder %s", place)
		}
	}
}

// The queries of a row must not contain Grafana's variables, and Prometheus must accept the queries.
func TestRowQueries(t *testing.T) {
	for _, row := range []string{NodeStartUpRow, WorkloadsRow, "Registry $registry"} {
		queries, err := RowQueries(row)
		if err != nil || len(queries) < 4 {
			t.Errorf("row %s: %d panels, %v", row, len(queries), err)
		}
		for panel, expressions := range queries {
			for _, expr := range expressions {
				if parse(t, expr); strings.Contains(expr, "$") || !strings.Contains(expr, `cluster=~".*"`) {
					t.Errorf("row %s, panel %s: %s", row, panel, expr)
				}
			}
		}
	}
	if _, err := RowQueries("Weather"); err == nil {
		t.Error("the dashboard has a row about the weather")
	}
}

// If a click on a panel selects a label, all series of the panel must have this label.
func TestLinksUseExistingLabels(t *testing.T) {
	known := allMetrics(t)
	links := 0
	for _, s := range sections {
		for _, p := range s.panels {
			for _, q := range p.queries {
				if p.link == "" {
					continue
				}
				links++
				if labels := known.labelsOf(parse(t, withoutVariables(q.expr))); !labels[p.link] {
					t.Errorf("%s: %s: no label %s", s.title, p.title, p.link)
				}
			}
		}
	}
	if links == 0 {
		t.Fatal("no links")
	}
}

// Panels must not overlap, and must not be wider than the page.
func TestPanelsFit(t *testing.T) {
	for _, s := range sections {
		sum := 0
		for _, p := range s.panels {
			sum += p.width
		}
		if sum%24 != 0 {
			t.Errorf("%s: the panels have a total width of %d, want a multiple of 24", s.title, sum)
		}
	}
}

// A fleet has hundreds of nodes, so each panel about nodes, registries or workloads must limit its number of lines. A
// limit is not necessary for labels with few values.
func TestPanelsLimitTheirLines(t *testing.T) {
	known := allMetrics(t)
	many := []string{"node", "registry", "instance", "pod", "workload", "namespace"}
	for _, s := range sections {
		for _, p := range s.panels {
			if p.kind == table && !strings.Contains(p.queries[0].expr, "topk(") {
				t.Errorf("%s: %s: the first column of the table has no topk", s.title, p.title)
			}
			for _, q := range p.queries {
				have := known.labelsOf(parse(t, withoutVariables(q.expr)))
				limited := strings.Contains(q.expr, "topk(") || strings.Contains(q.expr, "bottomk(")
				for _, label := range many {
					if have[label] && !limited && p.kind != table {
						t.Errorf("%s: %s: one line for each %s, without a limit", s.title, p.title, label)
					}
				}
			}
		}
	}
}

// Each column of a table must have a unit. The titles of a section must be unique, and must name the content of the
// panels.
func TestPanelTitlesAndUnits(t *testing.T) {
	units := []string{"s", "none", "percentunit", "binBps", "bytes", "reqps"}
	for _, s := range sections {
		seen := map[string]bool{}
		for _, p := range s.panels {
			if seen[p.title] || len(p.title) < 8 {
				t.Errorf("%s: title %q is too short or not unique", s.title, p.title)
			}
			seen[p.title] = true
			for _, word := range []string{" them", " it ", " that ends"} {
				if strings.Contains(p.title+" ", word) {
					t.Errorf("%s: title %q has a word without a clear meaning: %q", s.title, p.title, word)
				}
			}
			switch p.kind {
			case text:
			case table:
				for _, q := range p.queries {
					if !slices.Contains(units, q.unit) || q.name == "" {
						t.Errorf("%s: %s: column %q has unit %q", s.title, p.title, q.name, q.unit)
					}
				}
			default:
				if !slices.Contains(units, p.unit) {
					t.Errorf("%s: %s has unit %q", s.title, p.title, p.unit)
				}
			}
		}
	}
	if i := slices.IndexFunc(sections, func(s section) bool { return strings.HasPrefix(s.title, "Workloads") }); i < 0 {
		t.Error("the dashboard has no row for workloads")
	}
}
