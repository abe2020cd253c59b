package page

import "testing"

// TestIgnoredParts checks that the page names the part of an address that it ignores.
func TestIgnoredParts(t *testing.T) {
	tab := openModules(t)
	const message = "The page ignores a part of the address: "
	for _, c := range [][2]string{
		{"#/?last=nope", message + "last=nope."},
		{"#/pulls?last=1h", ""},
		{"#/pulls?from=yesterday", message + "from=yesterday."},
		{"#/nope?last=1h", message + "nope."},
		{"#/?from=2026-03-01T12:00:05Z&to=2026-03-01T12:10:00Z", ""},
		{"#/pods/team-0", message + "pods/team-0."},
		{"#/quality", ""},
	} {
		eval[int](t, tab, `(location.hash = `+quoted(c[0])+`, 0)`)
		must(t, tab.Await(c[0], `location.hash === `+quoted(c[0])+` && (document.querySelector('#alert').hidden ? '' :
			document.querySelector('#alert').textContent) === `+quoted(c[1]), soon))
	}
}
