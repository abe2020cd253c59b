package page

import "testing"

// TestOldAddresses checks that URLs of earlier versions open the current views.
func TestOldAddresses(t *testing.T) {
	tab := modules(t)
	ask[int](t, tab, `(location.hash = '#/evidence', 0)`)
	must(t, tab.Await("data quality", `document.querySelector('.quality-view')`, soon))
	ask[int](t, tab, `(location.hash = '#/?sort=blame', 0)`)
	must(t, tab.Await("the order by cause", `document.querySelector('.head-cause').dataset.sorted === 'yes'`, soon))
}

// TestIgnoredParts checks that the page names the part of an address that it ignores.
func TestIgnoredParts(t *testing.T) {
	tab := modules(t)
	const message = "The page ignores a part of the address: "
	for _, c := range [][2]string{
		{"#/?last=nope", message + "last=nope."},
		{"#/pulls?last=1h", ""},
		{"#/pulls?from=yesterday", message + "from=yesterday."},
		{"#/nope?last=1h", message + "nope."},
		{"#/?from=2026-03-01T12:00:05Z&to=2026-03-01T12:10:00Z", ""},
		{"#/pods/team-0", message + "pods/team-0."},
		{"#/evidence", ""},
	} {
		ask[int](t, tab, `(location.hash = `+quoted(c[0])+`, 0)`)
		must(t, tab.Await(c[0], `location.hash === `+quoted(c[0])+` && (document.querySelector('#alert').hidden ? '' :
			document.querySelector('#alert').textContent) === `+quoted(c[1]), soon))
	}
}
