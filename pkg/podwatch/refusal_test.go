package podwatch

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// TestPodsTellTheRemedyOfARefusal holds that the board's 256 bytes show it, whatever the server says.
func TestPodsTellTheRemedyOfARefusal(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, strings.Repeat("pods is forbidden ", 20))
	h := newHarness(t)
	h.runPods(server.URL())
	h.until(false, remedyPods)
}

func TestEveryRemedyFits(t *testing.T) {
	for _, remedy := range []string{remedyPods, remedyAsNode, remedyEvents, remedyTokenBad} {
		if n := len("watch events: " + remedy + remedyWhoToAsk); n > 200 {
			t.Errorf("%d bytes leave no room for what the API server says: %s", n, remedy)
		}
	}
}

// TestAsNode holds the header on which constrained impersonation goes, and that no other is sent: groups would
// ask for another kind of impersonation.
func TestAsNode(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	var sent http.Header
	config := &rest.Config{Host: server.URL()}
	asNode := AsNode(config, nodeName)
	asNode.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r.Header.Clone()
			return next.RoundTrip(r)
		})
	})
	client, err := NewRESTClient(asNode)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Get().Resource("pods").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	if got := sent.Get("Impersonate-User"); got != "system:node:"+nodeName || config.Impersonate.UserName != "" {
		t.Errorf("impersonates %q, and the configuration it was made of %q", got, config.Impersonate.UserName)
	}
	for header := range sent {
		if strings.HasPrefix(header, "Impersonate-") && header != "Impersonate-User" {
			t.Errorf("sends %s", header)
		}
	}
}
