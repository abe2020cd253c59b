package synthetic

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/kube"
)

// earlierReasons returns the reasons of the Events that AddEarlierEvents creates. Synthetic kubelets never create
// Events with these reasons.
func earlierReasons() []string { return []string{"Unhealthy", "BackOff", "FailedMount", "Killing"} }

// AddEarlierEvents creates Events about pods of another node, as in a busy namespace. ClearEvents does not delete the
// Events that AddEarlierEvents created.
func AddEarlierEvents(ctx context.Context, client *kube.Client, namespace string, count int) error {
	const writers = 8 // more writers would not be faster, because etcd stores the Events one after the other
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(writers)
	now, reasons := time.Now(), earlierReasons()
	for i := range count {
		writing.Go(func() error {
			p := pod{namespace: namespace, name: fmt.Sprintf("earlier-%d", i/8), node: "node-1",
				uid: fmt.Sprintf("00000000-0000-4000-8000-%012d", i/8)}
			event := p.event("c1", reasons[i%len(reasons)], fmt.Sprintf("Readiness probe failed: Get "+
				"\"http://10.0.%d.%d:8080/ready\": context deadline exceeded (Client.Timeout exceeded while awaiting "+
				"headers)", i>>8&255, i&255), now.Add(time.Duration(i)))
			event.Type = corev1.EventTypeWarning
			if err := client.Create(ctx, eventsPath(namespace), event); err != nil {
				return fmt.Errorf("create an earlier Event: %w", err)
			}
			return nil
		})
	}
	return writing.Wait()
}

// ClearEvents deletes the Events of synthetic kubelets in a namespace. ClearEvents does not delete the Events that
// AddEarlierEvents created.
func ClearEvents(ctx context.Context, client *kube.Client, namespace string) error {
	var others []string
	for _, reason := range earlierReasons() {
		others = append(others, "reason!="+reason)
	}
	return deleteEvents(ctx, client, namespace, strings.Join(others, ","))
}

// RemoveEarlierEvents deletes the Events that AddEarlierEvents created. For each request, the API server deletes the
// Events one after the other. To be faster, RemoveEarlierEvents sends several requests at the same time.
func RemoveEarlierEvents(ctx context.Context, client *kube.Client, namespace string) error {
	deleting, ctx := errgroup.WithContext(ctx)
	for _, reason := range earlierReasons() {
		deleting.Go(func() error { return deleteEvents(ctx, client, namespace, "reason="+reason) })
	}
	return deleting.Wait()
}

// deleteEvents deletes the Events that match a field selector. If there are many Events, a request can reach its time
// limit before the API server has deleted all Events. Then deleteEvents repeats the request.
func deleteEvents(ctx context.Context, client *kube.Client, namespace, selector string) error {
	const requests = 20
	var err error
	for range requests {
		err = client.Delete(ctx, eventsPath(namespace)+"?fieldSelector="+url.QueryEscape(selector))
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("delete the Events that match %s: %w", selector, err)
	}
	return nil
}

func eventsPath(namespace string) string { return "/api/v1/namespaces/" + namespace + "/events" }
