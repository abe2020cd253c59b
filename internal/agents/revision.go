package agents

import (
	"context"
	"fmt"
	"strconv"
)

// numberAnnotation is the key of an annotation on ReplicaSets. The annotation contains the number of the revision. The
// Deployment controller writes this annotation.
const numberAnnotation = "deployment.kubernetes.io/revision"

// numbered is a ReplicaSet or a ControllerRevision with the fields that contain the number of the revision.
type numbered struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Revision int64 `json:"revision"`
}

// RevisionNumber returns the number of a revision of a Deployment, StatefulSet or DaemonSet. The command `kubectl
// rollout history` shows the same number. The argument "revision" is the value of the field "revision" in podlapse's
// records. If Kubernetes has deleted the revision, the error is a *client.Refusal with the status 404. For other
// kinds, and for a ReplicaSet without a valid numberAnnotation, the result is 0.
func (c *Cluster) RevisionNumber(ctx context.Context, namespace, kind, name, revision string) (int64, error) {
	var resource, object string
	switch kind {
	case "Deployment":
		resource, object = "replicasets", name+"-"+revision
	case "StatefulSet":
		// For a StatefulSet, "revision" is the name of the ControllerRevision.
		resource, object = "controllerrevisions", revision
	case "DaemonSet":
		resource, object = "controllerrevisions", name+"-"+revision
	default:
		return 0, nil
	}
	found, err := get[numbered](ctx, c, wholeObjects, nil, "apis", "apps", "v1", "namespaces", namespace, resource,
		object)
	if err != nil {
		return 0, fmt.Errorf("get %s %s/%s: %w", resource, namespace, object, err)
	}
	if kind != "Deployment" {
		return found.Revision, nil
	}
	number, err := strconv.ParseInt(found.Metadata.Annotations[numberAnnotation], 10, 64)
	if err != nil {
		return 0, nil // without a valid annotation: another tool created the ReplicaSet
	}
	return number, nil
}
