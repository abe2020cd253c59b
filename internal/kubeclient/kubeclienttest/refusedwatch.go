package kubeclienttest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// RefusedWatch tests a source whose ClusterRole allows lists but no watches. While the API server refuses watches, the
// source must not send more than 200 requests in 10 minutes. After these 10 minutes, the test allows watches. A minute
// later, the test adds the given object. When the watch has delivered this object, the test ends the watch. The source
// must reopen the watch within a second.
func RefusedWatch(t *testing.T, source func(rest.Interface) func(context.Context) error, object interface {
	metav1.Object
	runtime.Object
}) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := podwatchtest.StartPiped(t)
		server.Authorize(func(a podwatchtest.Attempt) bool { return a.Verb != "watch" })
		client, err := kubeclient.New(&rest.Config{Host: server.URL(), Transport: server.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		stop := InBackground(t, source(client))
		defer stop()
		time.Sleep(10 * time.Minute)
		if requests := len(server.Requests()); requests > 200 { // a correct source sends at most four requests in 15 s
			t.Errorf("sent %d requests in 10 minutes, want at most 200", requests)
		}
		server.Authorize(nil)
		time.Sleep(time.Minute)
		server.Put(object)
		synctest.Wait()
		before := len(server.Requests())
		server.ExpireWatches()
		time.Sleep(time.Second)
		if len(server.Requests()) == before {
			t.Error("the tested source did not reopen its watch within a second")
		}
	})
}
