package annotate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
)

// responseTimeout is the timeout of one request to the API server.
const responseTimeout = 10 * time.Second

// If the API server forbids a request, the report to package health begins with remedy. The API server's message comes
// after remedy, because package health truncates long reports.
const remedy = "install the component annotate, which allows the agent to patch the pods of its node " +
	"(docs/annotations.md): "

// applied is the configuration for server-side apply. The configuration contains the identity of the pod and all
// annotations that the field manager must own. The identity includes the UID, so server-side apply fails instead of
// creating a pod or writing to another pod with the same name. Because of the resource version, server-side apply never
// writes to a pod that has changed since the agent read it.
type applied struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        appliedMeta `json:"metadata"`
}

type appliedMeta struct {
	Namespace       string            `json:"namespace"`
	Name            string            `json:"name"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Annotations     map[string]string `json:"annotations"`
}

// apply sends one request with all annotations that the field manager must own. If dryRun is "All", the API server
// stores nothing.
func (a *Annotator) apply(ctx context.Context, p annotationRequest, annotations map[string]string,
	dryRun string) error {
	body, err := json.Marshal(applied{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		Metadata: appliedMeta{p.namespace, p.name, p.uid, p.version, annotations},
	})
	if err != nil {
		return fmt.Errorf("encode annotations of pod %s/%s: %w", p.namespace, p.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	request := a.config.Client.Patch(types.ApplyYAMLPatchType).Namespace(p.namespace).Resource("pods").Name(p.name).
		Param("fieldManager", Manager).
		// The client must have no rate limit, because serve has already chosen the resource version. A delay would
		// allow the pod to change before the request.
		Throttle(flowcontrol.NewFakeAlwaysRateLimiter()).
		MaxRetries(0). // the queue retries
		Body(body)
	if dryRun != "" {
		request.Param("dryRun", dryRun)
	}
	err = request.Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("annotate pod %s/%s: %w", p.namespace, p.name, err)
	}
	return nil
}

func resultOf(err error) string {
	switch {
	case err == nil:
		return resultWritten
	case apierrors.IsNotFound(err):
		return resultGone
	case apierrors.IsConflict(err):
		return resultConflict
	case errors.Is(err, errNoPolicy), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err),
		apierrors.IsInvalid(err), apierrors.IsBadRequest(err),
		apierrors.IsMethodNotSupported(err), apierrors.IsUnsupportedMediaType(err),
		apierrors.IsRequestEntityTooLargeError(err):
		return resultRefused
	}
	return resultFailed
}

func worded(err error) string {
	if apierrors.IsForbidden(err) {
		return remedy + err.Error()
	}
	return err.Error()
}
