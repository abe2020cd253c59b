package podwatch

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestRefusedWatchBacksOff(t *testing.T) {
	kubeclienttest.RefusedWatch(t, func(client rest.Interface) func(context.Context) error {
		return NewPods(Config{Client: client, NodeName: nodeName,
			Observe: func(context.Context, timeline.Observation) {}, Report: func(bool, string) {},
			Now: time.Now}).Run
	}, pod("a", "1"))
}
