package sentences

import "testing"

// TestIntroPrecedesItems checks that the paragraph that introduces a list precedes each item, and no other paragraph.
func TestIntroPrecedesItems(t *testing.T) {
	text := `The agent stops in these cases:

- The node has no disk left.
- The clock was set back. Then all times are unclear.

Every other case is harmless.

- This item has no introduction.
`
	want := []string{"", "The agent stops in these cases:", "The agent stops in these cases:",
		"The agent stops in these cases: The clock was set back.", "", ""}
	got := markdown("a.md", text)
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i, s := range got {
		if s.Before != want[i] {
			t.Errorf("%q: got %q before it, want %q", s.Text, s.Before, want[i])
		}
	}
}
