package filter_test

import (
	"testing"

	"github.com/podlapse/podlapse/internal/filter"
)

func TestKindOf(t *testing.T) {
	for word, want := range map[string]string{
		"deploy": "Deployment", "Deployments": "Deployment", "DEPLOYMENT.apps": "Deployment",
		"deployments.v1.apps": "Deployment", "rc": "ReplicationController", "cj": "CronJob", "po": "Pod", "no": "Node",
		"deployment.batch": "", "deployment.": "", "rc.v1.": "ReplicationController", "deployments.x1.apps": "",
		"svc": "", "Rollout": "", "": "",
	} {
		if kind, known := filter.KindOf(word); kind != want || known != (want != "") {
			t.Errorf("%q: %q, %t, want %q", word, kind, known, want)
		}
	}
	if kind := filter.OwnerKind("Rollout"); kind != "Rollout" {
		t.Errorf("the kind of a custom resource: %q", kind)
	}
}
