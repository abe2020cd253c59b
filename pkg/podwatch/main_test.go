package podwatch

import (
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const nodeName = "node-a"

// harness runs a source and collects its observations.
type harness struct {
	*kubeclienttest.Source
	t    *testing.T
	pods *Pods
}

func newHarness(t *testing.T) *harness { return &harness{Source: kubeclienttest.NewSource(t), t: t} }

func (h *harness) runPods(url string, known ...string) {
	h.pods = NewPods(Config{
		Client: clientFor(h.t, url), NodeName: nodeName,
		Observe: h.Observe, Report: h.Report, Now: h.Clock.Now, Known: known,
	})
	h.Run(h.pods.Run)
}

// untilOpen waits until the source has opened its watch and has read the clock.
func (h *harness) untilOpen() {
	h.t.Helper()
	kubeclienttest.Eventually(h.t, "watching", func() bool { return h.pods.OpenFor(0) })
}

func (h *harness) nextPod(name string, live bool) timeline.Pod {
	h.t.Helper()
	o := h.Next()
	seen, ok := o.(timeline.PodSeen)
	if !ok || seen.Pod.Name != name || seen.Live != live || seen.ArrivedAt != h.Clock.Now() {
		h.t.Fatalf("observed %+v, want pod %s, live %t", o, name, live)
	}
	return seen.Pod
}

func (h *harness) nextGone(uid string, live bool) {
	h.t.Helper()
	want := timeline.PodGone{UID: uid, ArrivedAt: h.Clock.Now(), Live: live}
	if o := h.Next(); o != want {
		h.t.Fatalf("saw %+v, want %+v", o, want)
	}
}

func clientFor(t *testing.T, url string) rest.Interface {
	return kubeclienttest.Client(t, url, kubeclient.New)
}

func pod(name, uid string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
}
