package kubeclient

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExplain(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, test := range []struct {
		err  error
		want string
	}{
		{apierrors.NewForbidden(pods, "", errors.New("no")), "allow it" + remedyCheck + "pods"},
		{apierrors.NewUnauthorized("bad token"), remedyTokenBad + remedyCheck + "bad token"},
		{errNoResponse, errNoResponse.Error()},
	} {
		if got := Explain(test.err, "allow it"); !strings.HasPrefix(got, test.want) {
			t.Errorf("%v: got %q, want it to begin with %q", test.err, got, test.want)
		}
	}
}

// The health board cuts each report at 256 bytes. TestExplanationsFit checks that the remedy leaves room for a part of
// the API server's message.
func TestExplanationsFit(t *testing.T) {
	const longest = 150 // bytes of a remedy with its introduction; the packages with remedies test this limit
	if n := max(longest, len("watch events: "+remedyTokenBad)) + len(remedyCheck); n > 200 {
		t.Errorf("the longest remedy has %d bytes", n)
	}
}
