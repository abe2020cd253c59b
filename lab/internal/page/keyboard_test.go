package page

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// TestKeyboardNavigation uses only the keyboard. It opens the layers of a pull from the list, and then goes back.
func TestKeyboardNavigation(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("rows", `document.querySelectorAll('.row').length > 10`, soon))
	press := func(keys ...string) {
		for _, key := range keys {
			must(t, tab.Press(key))
		}
	}
	// The function Press would also type the slash into the search field, so the test dispatches the event itself.
	eval[int](t, tab, `(document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true })), 0)`)
	press("team-3")
	must(t, tab.Await("the search to be in the address", `location.hash === '#/?q=team-3'`, soon))
	must(t, tab.Await("the rows of the search", `[...document.querySelectorAll('.row:not([hidden]) .pod small')]
		.every((of) => of.textContent.startsWith('team-3'))`, soon))
	press(kb.ArrowDown, kb.ArrowDown, kb.ArrowDown, kb.ArrowUp)
	second := eval[string](t, tab, `document.activeElement.dataset.uid ?? ''`)
	if rows, err := Rows(tab); err != nil || second != rows[1].UID {
		t.Errorf("the focus is on %q, want the second row: %v", second, err)
	}
	press(kb.Enter)
	must(t, tab.Await("the waterfall", `document.querySelectorAll('.wf-rows > *').length > 5`, soon))
	press(kb.ArrowDown)
	must(t, tab.Await("the first phase in focus",
		`document.activeElement === document.querySelector('.wf-rows').firstElementChild`, soon))
	if reported := eval[string](t, tab, Detail); reported == "" {
		t.Error("the page must show the details of the focused phase")
	}
	phases := eval[int](t, tab, `document.querySelectorAll('.wf-rows > *').length`)
	pull := eval[int](t, tab, `[...document.querySelector('.wf-rows').children]
		.findIndex((row) => row.classList.contains('can-open'))`)
	for range pull {
		press(kb.ArrowDown)
	}
	press(kb.Enter)
	// The six additional rows are the download, the unpacking and four layers.
	must(t, tab.Await("layers", fmt.Sprintf(`document.querySelectorAll('.wf-rows > *').length === %d + 6`, phases),
		soon))
	press(kb.ArrowLeft)
	must(t, tab.Await("no layers", fmt.Sprintf(`document.querySelectorAll('.wf-rows > *').length === %d`, phases),
		soon))
	press(kb.Escape)
	must(t, tab.Await("the unchanged list",
		`location.hash === '#/?q=team-3' && document.querySelector('.tools input')?.value === 'team-3'`, soon))
	must(t, tab.Await("the row of the pod in focus", `document.activeElement.dataset.uid === `+quoted(second), soon))
	requireNoComplaints(t, tab)
}

// TestKeysOutsideTheList checks that keys do not change a select element or the selection. In a view without rows, keys
// must scroll the view.
func TestKeysOutsideTheList(t *testing.T) {
	s := standIn(t, "--pods=60")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/#/?cause=app"))
	cause := `document.querySelector('.tools select')`
	must(t, tab.Await("the selected cause", cause+`.value === 'app'`, soon))
	eval[int](t, tab, `(`+cause+`.focus(), 0)`)
	must(t, tab.Press(kb.Escape))
	must(t, tab.Await("the focus to leave the select", `document.activeElement === document.body`, soon))
	if shown := eval[string](t, tab, cause+`.value + ' ' + location.hash`); shown != "app #/?cause=app" {
		t.Errorf("the select element and the address have the values %q", shown)
	}
	for _, view := range []string{"pulls", "registries", "quality", "workloads", "images", "node"} {
		eval[int](t, tab, `(location.hash = '#/`+view+`', 0)`)
		must(t, tab.Await(view, `document.querySelector('.`+view+`-view')`, soon))
		if !eval[bool](t, tab, `document.body.dispatchEvent(
			new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true }))`) {
			t.Errorf("view %s does not scroll with the arrow keys", view)
		}
	}
	requireNoComplaints(t, tab)
}

// TestRowOrderMatchesScreen compares the order of the rows' elements with their order on the screen. The Tab key and
// screen readers follow the order of the elements. The test compares the orders while rows move, and also far down in
// the list. The focus must stay on its row.
func TestRowOrderMatchesScreen(t *testing.T) {
	s := standIn(t, "--pods=200", "--changes=20")
	tab := openTab(t, wide)
	must(t, tab.Go("http://"+s.address+"/"))
	must(t, tab.Await("rows that move", `document.querySelectorAll('.row.state-starting').length > 5`, soon))
	const tops = `[...document.querySelectorAll('.rows > *:not([hidden])')]
		.map((row) => Math.round(row.getBoundingClientRect().top))`
	look := func(where string) {
		t.Helper()
		for range 10 {
			if seen := eval[[]int](t, tab, tops); len(seen) < 5 || !slices.IsSorted(seen) {
				t.Fatalf("%s: the elements must have the same order as on the screen, but their vertical "+
					"positions are %v", where, seen)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	look("at the top")
	focused := eval[string](t, tab, `(() => { const row = document.querySelectorAll('.row:not([hidden])')[3];
		row.focus(); return row.dataset.uid; })()`)
	for _, y := range []int{3000, 1500, 6000, 0} {
		eval[int](t, tab, fmt.Sprintf(`(window.scrollTo(0, %d), 0)`, y))
		look(fmt.Sprintf("%d pixels down", y))
		if is := eval[string](t, tab, `document.activeElement.dataset.uid ?? ''`); is != focused {
			t.Fatalf("%d pixels down, the focus is on %q, want %q", y, is, focused)
		}
	}
	requireNoComplaints(t, tab)
}
