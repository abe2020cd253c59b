package monitoring

import (
	"bytes"
	"flag"
	"os"
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

// A click selects by a label, which the panel's series must have.
func TestLinksUseExistingLabels(t *testing.T) {
	known := everything(t)
	links := 0
	for _, s := range sections {
		for _, p := range s.panels {
			for _, q := range p.queries {
				if p.link == "" {
					continue
				}
				links++
				if labels := known.labelsOf(parse(t, q.expr)); !labels[p.link] {
					t.Errorf("%s: %s: no label %s", s.title, p.title, p.link)
				}
			}
		}
	}
	if links == 0 {
		t.Fatal("no links")
	}
}

// Panels neither overlap nor exceed the page.
func TestPanelsFit(t *testing.T) {
	for _, s := range sections {
		sum := 0
		for _, p := range s.panels {
			sum += p.width
		}
		if sum%24 != 0 {
			t.Errorf("%s: panels are %d wide together, want a multiple of 24", s.title, sum)
		}
	}
}
