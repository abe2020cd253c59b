package untrusted

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

func TestText(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"€€€", 4, "€"}, {"€€€", 9, "€€€"}, {"€", 2, ""}, {"bad \xff byte", 20, "bad � byte"}, {"\xff\xff", 3, "�"},
	} {
		if got := Text(test.text, test.limit); got != test.want {
			t.Errorf("Text(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

func TestMessageIsShortened(t *testing.T) {
	for name, test := range map[string]struct{ message, begins, ends string }{
		"too long":                   {strings.Repeat("x", MaxMessage+1), "xxx", "xxx"},
		"of the maximum length":      {strings.Repeat("x", MaxMessage), "xxx", "xxx"},
		"with multi-byte characters": {strings.Repeat("€", MaxMessage), "€€€", "€€€"},
		"and again":                  {"x" + strings.Repeat("€", MaxMessage), "x€€€", "€€€"},
		"invalid UTF-8 only":         {strings.Repeat("\xff\xfe", MaxMessage), "�", "�"},
		"bad":                        {"bad \xff\xfe byte", "bad � byte", "bad � byte"},
		"quoted in the middle": {`it "` + strings.Repeat("x", 3*MaxMessage) + `": not found`, `it "xxx`,
			`": not found`},
		"quoted at the end": {strings.Repeat("x ", MaxMessage) + `"` + strings.Repeat("y", MaxMessage) +
			`": not found`, "x x", "…: not found"},
		"only quotes": {strings.Repeat(`"`, 2*MaxMessage), `"""`, `"""`},
	} {
		got := Message(test.message)
		if len(got) > MaxMessage || !utf8.ValidString(got) || !strings.HasPrefix(got, test.begins) ||
			!strings.HasSuffix(got, test.ends) ||
			strings.Count(got, `"`)%2 != 0 {
			t.Errorf("%s: %d bytes: %q", name, len(got), got)
		}
		if whole := strings.ToValidUTF8(test.message, "�"); len(whole) <= MaxMessage && got != whole {
			t.Errorf("%s: %q was cut", name, got)
		}
	}
}

// TestPullFailureReasonIsKept uses image references as in cloud registries, which containerd repeats three or four
// times in a message.
func TestPullFailureReasonIsKept(t *testing.T) {
	repository := "123456789012.dkr.ecr.eu-central-1.amazonaws.com/" + strings.Repeat("team/platform/", 10)
	for length := range 40 { // so that the cut is at every position of the reference
		ref := repository + strings.Repeat("service/", length)[:8*length/3] + "@sha256:" + strings.Repeat("a", 64)
		begins := `rpc error: code = Unknown desc = failed to pull and unpack image "` + ref +
			`": failed to resolve reference "` + ref + `": `
		for ends, want := range map[string]imagepull.Failure{
			ref + ": not found": imagepull.FailureNotFound,
			"unexpected status from HEAD request to https://" + ref +
				": 401 Unauthorized": imagepull.FailureUnauthorized,
			`failed to do request: Head "https://` + ref +
				`": dial tcp 10.0.0.1:443: connect: connection refused`: imagepull.FailureConnectionRefused,
		} {
			ofEvent := Message(`Failed to pull image "` + ref + `": ` + begins + ends)
			if got := imagepull.ParseMessage("Failed", ofEvent); got.Failure != want || got.Image != ref {
				t.Errorf("Event with %d bytes: %+v, want %s", len(ofEvent), got, want)
			}
			ofStatus := Message(begins + ends)
			if got := imagepull.ClassifyFailure("ErrImagePull: " + ofStatus); got != want {
				t.Errorf("status with %d bytes: %s, want %s", len(ofStatus), got, want)
			}
		}
	}
}
