package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

// TestImpossibleTotals has an agent with impossible totals, and an old agent with impossible records. The commands must
// omit both agents and name them.
func TestImpossibleTotals(t *testing.T) {
	for _, command := range []string{"nodes", "registries"} {
		want := atNoon(t, clusterOf(t, shop()[2:]), command, "-o", "json")
		want.must(t, ExitOK, "", "")
		cluster := shop()
		old := cluster[1]
		old.refusal = &api.Problem{Error: "not_found", Reason: "no totals for you"}
		old.records[0].Total = api.Seconds(-time.Hour)
		server := clusterOf(t, cluster)
		hostile, honest := agentOn("worker-1", ""), cluster[0]
		hostile.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/totals") {
				honest.ServeHTTP(w, r)
				return
			}
			fmt.Fprint(w, `{"node":"worker-1","ended":9,"started":9,"registries":[{"registry":"quay.example",`+
				`"sized":{"pulls":-5}}]}`)
		})
		server.Replace(hostile)
		got := atNoon(t, server, command, "-o", "json")
		got.must(t, ExitPartial, "", `node worker-1: the agent sent invalid totals: registry "quay.example" has `+
			"sized pulls -5: must be 0 to 1000000000. Check")
		got.must(t, ExitPartial, "", "node worker-2: the agent sent invalid records: pod ")
		if got.stdout != want.stdout {
			t.Errorf("%s:\n%s\nwant the data of worker-3 only:\n%s", command, got.stdout, want.stdout)
		}
	}
}
