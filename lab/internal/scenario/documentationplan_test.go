package scenario

import (
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/markdown"
)

func TestPlanDocumented(t *testing.T) {
	plan := func(text string) (documentedRun, error) {
		commands, err := markdown.Commands("a.md", "```sh\n"+text+"\n```\n")
		if err != nil || len(commands) != 1 {
			t.Fatalf("%s: %d commands, %v", text, len(commands), err)
		}
		return planDocumented(commands[0], documentedNames("agent-x"))
	}
	for text, want := range map[string]string{
		"kubectl podlapse explain POD -n NS":                  "kubectl podlapse explain web-0 -n shop",
		"kubectl podlapse explain NAMESPACE/POD":              "kubectl podlapse explain shop/web-0",
		"kubectl podlapse explain cart-b --node worker-2":     "kubectl podlapse explain web-0 --node node-1",
		"kubectl podlapse explain deploy/checkout":            "kubectl podlapse explain deploy/shop",
		"kubectl podlapse top --node=NODE":                    "kubectl podlapse top --node=node-1",
		"kubectl -n podlapse describe pod POD":                "kubectl -n podlapse describe pod agent-x",
		"kubectl -n podlapse port-forward POD 9717":           "kubectl -n podlapse port-forward agent-x :9717",
		"kubectl -n podlapse port-forward AGENT-POD 1:9717 &": "kubectl -n podlapse port-forward agent-x 1:9717",
		"kubectl apply -k manifests/base":                     "kubectl apply -k manifests/base --dry-run=server",
		"kubectl -n podlapse delete pod x":                    "kubectl -n podlapse delete pod x --dry-run=server",
		"kubectl -n shop annotate pod web-0 a=b":              "kubectl -n shop annotate pod web-0 a=b",
		"podlapse-agent explain \"$POD\"":                     "podlapse-agent explain \"$POD\"",
		"kubectl delete deploy shop":                          "kubectl delete deploy shop --dry-run=server",
		"kubectl delete namespace shop":                       "kubectl delete namespace shop --dry-run=server",
		"kubectl -n shop delete namespace shop":               "kubectl -n shop delete namespace shop --dry-run=server",
		"kubectl -n default delete pod shop":                  "kubectl -n default delete pod shop --dry-run=server",
		"kubectl -n shop apply -k manifests/base":             "kubectl -n shop apply -k manifests/base",
		"kubectl delete -nshop pod/x":                         "kubectl delete -nshop pod/x",
		"kubectl delete pod/x --namespace=shop":               "kubectl delete pod/x --namespace=shop",
		"kubectl cordon NODE":                                 "kubectl cordon node-1 --dry-run=server",
	} {
		if run, err := plan(text); err != nil || run.text != want {
			t.Errorf("%s: got %q, %v, want %q", text, run.text, err, want)
		}
	}
	for text, want := range map[string]string{
		"make up":                               "has no program make",
		"kubectl drain NODE":                    `does not know the command "kubectl drain"`,
		"kubectl gett pods":                     `does not know the command "kubectl gett"`,
		"kubectl":                               `does not know the command "kubectl`,
		"kubectl rollout undo deploy/x":         `does not know the command "kubectl rollout undo"`,
		"kubectl podlapse expain POD":           `does not know the command "podlapse-agent expain"`,
		"podlapse-agent run":                    `does not know the command "podlapse-agent run"`,
		"kubectl exec POD -- sh -c x":           `"kubectl exec" only for the program /podlapse-agent`,
		"kubectl exec POD -- /podlapse-agent x": `does not know the command "podlapse-agent x"`,
		"curl --data=x http://127.0.0.1:9717/":  "the scenario does not run curl with --data",
		"kubectl -n x apply -f - <<EOF\nEOF":    "without a here document",
		"kubectl -n podlapse scale deploy/x":    "would change the lab",
		"kubectl get pods -o name | helm ls":    "helm must be the only program",
		"kubectl delete pod $(kubectl get pod)": "must call only kubectl",
		"kubectl podlapse explain THING":        "placeholder THING",
		"kubectl get pods &":                    "documentedEnd",
	} {
		if run, err := plan(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q and error %v, want an error with %q", text, run.text, err, want)
		}
	}
	const ends, dies, exits = "ends", "dies of the interrupt", "exits after the interrupt"
	for text, want := range map[string]string{
		"kubectl podlapse top -w": exits, "kubectl podlapse page NODE": exits, "podlapse-agent explain -w": exits,
		"kubectl -n podlapse port-forward POD 9717": exits, "kubectl proxy": dies, "kubectl get pods -w": dies,
		"kubectl -n podlapse logs daemonset/podlapse-agent -f": dies, "curl -N http://127.0.0.1:9717/": dies,
		"kubectl get pods -n shop": ends, "kubectl podlapse top": ends, "curl -w x http://127.0.0.1:9717/": ends,
	} {
		run, err := plan(text)
		got := ends
		switch {
		case run.exits:
			got = exits
		case run.until != nil:
			got = dies
		}
		if err != nil || got != want {
			t.Errorf("%s: the command %s, %v, want %s", text, got, err, want)
		}
	}
}
