package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile is an example of a hostile message: sequences that clear the screen and set its title, reversed text,
// combining marks, a right-to-left mark, line and page breaks, and invalid UTF-8.
const hostile = "a\x1b[2J\x1b]0;t\a\u202eb\u0301\u200f\n\r\u2028\u009b31mc\xff<script>漢"

func TestClean(t *testing.T) {
	if got, want := Clean(hostile), "a[2J]0;tb31mc<script>漢"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got := Clean(strings.Repeat("é", 1<<20))
	if len(got) > MaxText+len(ellipsis) || !utf8.ValidString(got) || !strings.HasSuffix(got, "é…") {
		t.Errorf("a megabyte was shortened to %d bytes: …%q", len(got), got[len(got)-10:])
	}
	if got := Clean("a\u3164b\u115fc\u034fd"); got != "abcd" { // invisible letters
		t.Errorf("got %q", got)
	}
	if got := CleanLines("a\nb\x1b\nc\nd", 3); got != "a\nb\nc\n…" {
		t.Errorf("got %q", got)
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		text  string
		cells int
		// the results of Clip, ClipStart and ClipMiddle
		end, start, middle string
	}{
		{"abcdef", 6, "abcdef", "abcdef", "abcdef"},
		{"abcdef", 4, "abc…", "…def", "a…ef"},
		{"abcdef", 1, "…", "…", "…"},
		{"abcdef", 0, "", "", ""},
		{"abcdef", 5, "abcd…", "…cdef", "ab…ef"},
		{"漢字漢字", 8, "漢字漢字", "漢字漢字", "漢字漢字"},
		{"漢字漢字", 5, "漢字…", "…漢字", "漢…字"},
		{"漢字漢字", 4, "漢…", "…字", "…字"},
	} {
		if got := Clip(test.text, test.cells); got != test.end {
			t.Errorf("Clip(%q, %d) = %q, want %q", test.text, test.cells, got, test.end)
		}
		if got := ClipStart(test.text, test.cells); got != test.start {
			t.Errorf("ClipStart(%q, %d) = %q, want %q", test.text, test.cells, got, test.start)
		}
		if got := ClipMiddle(test.text, test.cells); got != test.middle {
			t.Errorf("ClipMiddle(%q, %d) = %q, want %q", test.text, test.cells, got, test.middle)
		}
	}
}

func TestWrap(t *testing.T) {
	const want = "one two three four\n  five\n  sixsixsixsixsixsix\n  sixsix"
	if got := Wrap("one two three four five sixsixsixsixsixsixsixsix", 20); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const quantities = "one two three fo\n  0.2 s pod and\n  7.7 MiB/s, two\n  80 %"
	if got := Wrap("one two three fo 0.2 s pod and 7.7 MiB/s, two 80 %", 20); got != quantities {
		t.Errorf("got\n%s\nwant\n%s", got, quantities)
	}
}

func TestTable(t *testing.T) {
	table := Table{Columns: []Column{{Shorten: Clip}, {Right: true}, {Shorten: ClipStart}}}
	table.Add("NAME", "SIZE", "IMAGE")
	table.Add("漢字", "1", "registry.example/shop/web:1")
	table.Add("a-name", "10 MiB", "")
	table.StyleRow(0, Bold)
	for _, test := range []struct {
		page Page
		want string
	}{
		{Page{}, "" +
			"NAME      SIZE  IMAGE\n" +
			"漢字         1  registry.example/shop/web:1\n" +
			"a-name  10 MiB\n"},
		{Page{Fit: true, Columns: 30}, "" +
			"NAME      SIZE  IMAGE\n" +
			"漢字         1  …le/shop/web:1\n" +
			"a-name  10 MiB\n"},
		{Page{Color: true, Fit: true, Columns: 5}, "" + // no column fits into five columns
			"\x1b[1mNAME\x1b[0m      \x1b[1mSIZE\x1b[0m  \x1b[1mIMAGE\x1b[0m\n" +
			"漢字         1  …hop/web:1\n" +
			"a-name  10 MiB\n"},
	} {
		var out strings.Builder
		table.Write(&out, test.page)
		if out.String() != test.want {
			t.Errorf("%+v: got\n%q\nwant\n%q", test.page, out.String(), test.want)
		}
	}
	table.Drop(0)
	var out strings.Builder
	table.Write(&out, Page{Color: true})
	const want = "  \x1b[1mSIZE\x1b[0m  \x1b[1mIMAGE\x1b[0m\n     1  registry.example/shop/web:1\n10 MiB\n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}

func FuzzLayout(f *testing.F) {
	f.Add(hostile, 7)
	f.Fuzz(func(t *testing.T, text string, cells int) {
		cells &= 0xff
		text = Clean(text)
		for _, short := range []string{Clip(text, cells), ClipStart(text, cells), ClipMiddle(text, cells)} {
			if Cells(short) > cells || !utf8.ValidString(short) {
				t.Errorf("%q has more than %d cells", short, cells)
			}
		}
		for line := range strings.SplitSeq(Wrap(text, cells), "\n") {
			if Cells(line) > max(cells, 20) {
				t.Errorf("%q has more than %d cells", line, cells)
			}
		}
	})
}

// TestOptionalColumns checks that a narrow page first shortens columns and then omits optional columns, the last one
// first.
func TestOptionalColumns(t *testing.T) {
	for columns, want := range map[int]string{
		30: "abcdefghijklmno  1  2  3\n",
		22: "abcdefghijkl…  1  2  3\n",
		18: "abcdefghijk…  1  2\n",
		14: "abcdefghij…  1\n",
	} {
		table := Table{Columns: []Column{{Shorten: Clip}, {}, {Optional: true}, {Optional: true}}}
		table.Add("abcdefghijklmno", "1", "2", "3")
		var out strings.Builder
		table.Write(&out, Page{Columns: columns, Fit: true})
		if out.String() != want {
			t.Errorf("%d columns: got %q, want %q", columns, out.String(), want)
		}
	}
}
