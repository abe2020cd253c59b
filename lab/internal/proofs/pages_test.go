package proofs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/scenario"
)

const docs = "../../../docs"

// page is a document with tables in which each row has a proof.
type page struct {
	file  string
	head  string // header line of the tables
	least int    // minimum number of rows; fewer rows mean that the test did not recognize the tables
}

// pages returns all documents with proofs.
func pages() []page {
	return []page{
		{"predecessors.md", "| capability | podlapse | proven by |", 100},
		{"threat-model.md", "| attempt | result | tested by |", 40},
	}
}

// The words in rows without a proof. If the second cell starts with leftOut or remains, the third cell can be noProof.
// If the second cell starts with notYet, the third cell must be proofLater.
const (
	leftOut, remains, noProof = "Left out", "Remains", "–"
	notYet, proofLater        = "Not yet", "not yet"
)

// row is a row of a table. In one document, a row contains a capability of a predecessor and podlapse's counterpart. In
// the other document, a row contains an attempted attack and its result.
type row struct{ subject, response, proof string }

// rows returns the rows of those tables of a page that have proofs.
func (p page) rows(t *testing.T, text string) []row {
	t.Helper()
	var all []row
	inTable := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		cells := strings.Split(line, " | ")
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case line == p.head:
			inTable = true
		case !inTable || line == "|---|---|---|":
		case len(cells) != 3:
			t.Errorf("%d cells, want 3: %s", len(cells), line)
		default:
			all = append(all, row{strings.TrimPrefix(cells[0], "| "), cells[1], strings.TrimSuffix(cells[2], " |")})
		}
	}
	return all
}

var (
	named     = regexp.MustCompile(`\[((?:Test|Example|Fuzz)\w+)\]\(([^)]+_test\.go)\)`)
	quoted    = regexp.MustCompile("`([^`]+)`")
	scenarios = regexp.MustCompile("scenarios? (?:`[^`]+`(?:, )?)+|such as `[^`]+`")
)

// problems returns the mistakes in a row.
func (r row) problems(source func(path string) string) []string {
	var wrong []string
	waits := strings.HasPrefix(r.response, notYet)
	missing := strings.HasPrefix(r.response, leftOut) || strings.HasPrefix(r.response, remains)
	switch {
	case waits != (r.proof == proofLater):
		return append(wrong, `a row needs both "`+notYet+`" and the proof "`+proofLater+`", or neither`)
	case waits:
		return nil
	case r.proof == noProof && !missing:
		return append(wrong, "no proof")
	case r.proof == noProof:
		return nil
	}
	tests := named.FindAllStringSubmatch(r.proof, -1)
	for _, test := range tests {
		if !strings.Contains(source(filepath.Join(docs, test[2])), "\nfunc "+test[1]+"(") {
			wrong = append(wrong, "no "+test[1]+" in "+test[2])
		}
	}
	played := 0
	for _, list := range scenarios.FindAllString(r.proof, -1) {
		for _, name := range quoted.FindAllStringSubmatch(list, -1) {
			if played++; !slices.Contains(scenario.Names(), name[1]) {
				wrong = append(wrong, "no scenario "+name[1])
			}
		}
	}
	if len(tests)+played == 0 || played != len(quoted.FindAllString(r.proof, -1)) ||
		len(tests) != strings.Count(r.proof, "](") {
		wrong = append(wrong, "cannot read the proof")
	}
	return wrong
}

func TestEveryRowHasProof(t *testing.T) {
	for _, p := range pages() {
		all := p.rows(t, read(t, docs, p.file))
		if len(all) < p.least {
			t.Fatalf("%s: read only %d rows", p.file, len(all))
		}
		for _, r := range all {
			for _, problem := range r.problems(func(path string) string { return read(t, path) }) {
				t.Errorf("%s: %s: %s: %s", p.file, r.subject, problem, r.proof)
			}
		}
	}
}

// The method problems must accept valid rows, and must report each kind of mistake.
func TestRowProblems(t *testing.T) {
	source := func(string) string { return "package p\n\nfunc TestThis(t *testing.T) {}\n" }
	for _, right := range []row{
		{"a", "flag", "[TestThis](../p/p_test.go); scenarios `pulls`, `otlp`"},
		{"b", leftOut + ": why", noProof},
		{"c", notYet, proofLater},
		{"d", remains + ": why", noProof},
		{"e", remains + ": why", "[TestThis](../p/p_test.go)"},
	} {
		if got := right.problems(source); len(got) > 0 {
			t.Errorf("%+v: %q", right, got)
		}
	}
	for _, wrong := range []row{
		{"a", "flag", ""},
		{"b", "flag", noProof},
		{"c", "flag", proofLater},
		{"d", notYet + ": soon", "[TestThis](../p/p_test.go)"},
		{"e", "flag", "[TestThat](../p/p_test.go)"},
		{"f", "flag", "[TestThi](../p/p_test.go)"},
		{"g", "flag", "scenario `pull`"},
		{"h", "flag", "scenarios `pulls`, `pull`"},
		{"i", "flag", "TestThis"},
		{"j", "flag", "[TestThis](../p/p_test.go), `pulls`"},
		{"k", "flag", "[TestThis](../p/p_test.go), [TestThis](p.md)"},
	} {
		if len(wrong.problems(source)) == 0 {
			t.Errorf("no problem is reported for %+v", wrong)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	metric  = regexp.MustCompile(`podlapse_[a-z_]+`)
	flagged = regexp.MustCompile("`(--[a-z-]+)")
	suffix  = regexp.MustCompile(`_(bucket|sum|count)$`)
)

func TestReferencesExist(t *testing.T) {
	for _, p := range pages() {
		t.Run(p.file, func(t *testing.T) { p.checkReferences(t, read(t, docs, p.file)) })
	}
}

// checkReferences requires that all files, metrics and flags in a page exist.
func (p page) checkReferences(t *testing.T, text string) {
	t.Helper()
	metrics, configuration := read(t, docs, "metrics.md"), read(t, docs, "configuration.md")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(docs, m[1])); err != nil && !strings.Contains(m[1], "://") {
			t.Error(err)
		}
	}
	for _, name := range metric.FindAllString(text, -1) {
		if !strings.Contains(metrics, "| `"+name+"` |") &&
			!strings.Contains(metrics, "| `"+suffix.ReplaceAllString(name, "")+"` | histogram |") {
			t.Errorf("no metric %s", name)
		}
	}
	for _, r := range p.rows(t, text) {
		for _, flag := range flagged.FindAllStringSubmatch(r.response, -1) {
			if !strings.Contains(configuration, "| `"+flag[1]+"` |") {
				t.Errorf("%s: no flag %s", r.subject, flag[1])
			}
		}
	}
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
