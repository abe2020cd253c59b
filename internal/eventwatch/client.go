package eventwatch

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// maxFrame is the maximum size in bytes of an Event that an Event watch reads. An Event of the kubelet usually has a
// few hundred bytes. An Event with a long error message from the runtime has a few KiB. The largest Event that etcd
// stores has 1.5 MiB. Without a limit, client-go would need 7.5 MiB of memory to decode such an Event, and would then
// keep a buffer of 2 MiB until the watch ends. Each open Event watch could need this memory, and by default, up to
// DefaultWatches Event watches are open at the same time.
const maxFrame = 128 << 10

// maxLists is the maximum number of list requests per second. Each list request costs the API server a few milliseconds
// at most.
const maxLists = 10

// tooLargeAnnotation marks the bookmark that replaces an Event larger than maxFrame. An Event in the cluster cannot
// imitate this bookmark, because only the API server sends bookmarks.
const tooLargeAnnotation = "podlapse/too-large"

// NewClient creates the client for Events. A watch of this client skips every Event that is larger than maxFrame. For a
// skipped Event, the client needs a buffer of at most maxFrame bytes.
func NewClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = maxLists, 2*maxLists
	return kubeclient.NewWithFrames(config, func(info runtime.SerializerInfo) (kubeclient.Frames, error) {
		instead, err := tooLargeFrame(info)
		if err != nil {
			return kubeclient.Frames{}, fmt.Errorf("encode bookmark as %s: %w", info.MediaType, err)
		}
		return kubeclient.Frames{Max: maxFrame, Instead: instead}, nil
	})
}

func tooLargeFrame(info runtime.SerializerInfo) ([]byte, error) {
	object, err := runtime.Encode(info.Serializer, &corev1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{tooLargeAnnotation: ""}},
	})
	if err != nil {
		return nil, err
	}
	return runtime.Encode(info.StreamSerializer.Serializer, &metav1.WatchEvent{
		Type: string(watch.Bookmark), Object: runtime.RawExtension{Raw: object},
	})
}

// isTooLarge reports whether a message of a watch is the bookmark that replaces an Event larger than maxFrame.
func isTooLarge(kind watch.EventType, event *corev1.Event) bool {
	_, marked := event.Annotations[tooLargeAnnotation]
	return kind == watch.Bookmark && marked
}
