package resourcetype_test

import (
	"testing"

	"github.com/podlapse/podlapse/internal/resourcetype"
)

func TestKindOf(t *testing.T) {
	for word, want := range map[string]string{
		"deploy": "Deployment", "Deployments": "Deployment", "DEPLOYMENT.apps": "Deployment",
		"deployments.v1.apps": "Deployment", "rc": "ReplicationController", "cj": "CronJob", "po": "Pod", "no": "Node",
		"deployment.batch": "", "deployment.": "", "rc.v1.": "ReplicationController", "deployments.x1.apps": "",
		"svc": "", "Rollout": "", "": "",
	} {
		if kind, known := resourcetype.KindOf(word); kind != want || known != (want != "") {
			t.Errorf("%q: %q, %t, want %q", word, kind, known, want)
		}
	}
	if kind := resourcetype.OwnerKind("Rollout"); kind != "Rollout" {
		t.Errorf("the kind of a custom resource: %q", kind)
	}
}

// TestSimilar uses typical typing errors, and namespaces whose names resemble short names of types.
func TestSimilar(t *testing.T) {
	for word, want := range map[string]string{
		"deploymnt": "deployment", "Deploymetn": "deployment", "deployy": "deploy", "statfulset": "statefulset",
		"nod": "node", "podss": "pods", "cronjobz": "cronjob", "jobz": "jobs", "deployment": "deployment",
		"prod": "", "shop": "", "db": "", "cm": "", "default": "", "deployment-tools": "", "": "",
	} {
		if got := resourcetype.Similar(word); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
