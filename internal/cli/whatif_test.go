package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/api"
)

// TestWhatIf uses agents of an earlier version. Their records contain no predictions.
func TestWhatIf(t *testing.T) {
	server := clusterOf(t, withCheckout(shop()))
	server.SetApps(checkoutApps())
	text := func(arguments string) string {
		got := atNoon(t, server, append([]string{"explain", "-n", "shop"}, strings.Fields(arguments)...)...)
		if got.code != ExitOK {
			t.Fatalf("%s: exit %d, %s", arguments, got.code, got.stderr)
		}
		return got.stdout
	}
	const heading = "\nWHAT WOULD HELP\n  with the image on the node: "
	if out := text("mail-b"); strings.Count(out, heading) != 1 || !strings.Contains(out, "instead of 18.5 s") {
		t.Errorf("no predictions of one pod:\n%s", out)
	}
	if out := text("deploy/checkout"); strings.Count(out, "WHAT WOULD HELP") != 1 ||
		!strings.Contains(out, "in 16 of 16 start-ups") {
		t.Errorf("no predictions of a workload:\n%s", out)
	}
	if out := text("--sort-by duration"); strings.Contains(out, "WHAT WOULD HELP") {
		t.Errorf("a list with predictions:\n%s", out)
	}
	var pod api.Record
	if err := json.Unmarshal([]byte(text("mail-b -o json")), &pod); err != nil || len(pod.WhatIf) != 1 ||
		pod.WhatIf[0].Change != api.WhatIfImages {
		t.Errorf("JSON of one pod: %+v, %v", pod.WhatIf, err)
	}
	var workload struct {
		Items  []api.Record
		WhatIf []api.WhatIfMean `json:"what_if"`
	}
	if err := json.Unmarshal([]byte(text("deploy/checkout -o json")), &workload); err != nil ||
		len(workload.WhatIf) != 1 || workload.WhatIf[0].StartUps != 16 || workload.Items[0].WhatIf != nil {
		t.Errorf("JSON of a workload: %+v, %v", workload.WhatIf, err)
	}
	if out := text("mail-b -o yaml"); !strings.Contains(out, "what_if:") {
		t.Errorf("YAML without predictions:\n%s", out)
	}
}
