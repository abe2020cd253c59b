package scenario

import "testing"

func TestDocumentedIDs(t *testing.T) {
	// This command prints the ID: printf 'podlapse trace %s/0' 0b1c | sha256sum | cut -c1-32
	if got := ownTrace("0b1c"); got != "a028d47a27cc320a333d3229096621ed" {
		t.Errorf("trace %q", got)
	}
}
