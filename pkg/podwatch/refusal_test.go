package podwatch

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// TestRefusalNamesRemedy checks that a report of 256 bytes includes the remedy for any message of the server.
func TestRefusalNamesRemedy(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, strings.Repeat("pods is forbidden ", 20))
	h := newHarness(t)
	h.runPods(server.URL())
	h.Until(false, remedyPods)
}

func TestRemediesAreNotTruncated(t *testing.T) {
	for _, remedy := range []string{remedyPods, remedyAsNode} {
		if n := len("watch pods: " + remedy); n > 150 {
			t.Errorf("a remedy of %d bytes leaves no room for the API server's message: %s", n, remedy)
		}
	}
}
