package podobjects

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/flate"
	corev1 "k8s.io/api/core/v1"
)

// Objects is a cache of the pod objects from the watch. Before an object enters the cache, the function redactedCopy
// removes or hides the fields that can contain secrets. The cache encodes each object in protobuf and compresses the
// result. The cache decompresses an object on request. The cache is safe for concurrent use, and implements
// podwatch.Keeper.
type Objects struct {
	now func() time.Time

	mu         sync.Mutex
	pods       map[string]packedPod // cached pods, by UID
	version    string
	receivedAt time.Time // time at which the API server last sent any data
	connected  bool

	// verifiedAt is the start time of the latest complete comparison of the objects with a list from the API server.
	// verifiedAt is zero before the first complete comparison.
	verifiedAt time.Time
}

type packedPod struct {
	namespace, name, labels string
	object                  []byte // pod object in protobuf, compressed with deflate
}

// New creates an empty cache. Package podwatch fills the cache.
func New(now func() time.Time) *Objects {
	return &Objects{now: now, pods: map[string]packedPod{}}
}

// Pack implements podwatch.Keeper. Pack compresses the object, and the returned function stores the compressed object.
func (o *Objects) Pack(pod *corev1.Pod, labels string) (keep func(), err error) {
	packed, err := packPod(pod, labels)
	if err != nil {
		return nil, err
	}
	uid, version := string(pod.UID), pod.ResourceVersion
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.pods[uid] = packed
		o.received(version)
	}, nil
}

// Forget implements podwatch.Keeper.
func (o *Objects) Forget(uid string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.pods, uid)
	o.received("")
}

// Received implements podwatch.Keeper.
func (o *Objects) Received(version string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.received(version)
}

func (o *Objects) received(version string) {
	o.version, o.receivedAt = cmp.Or(version, o.version), o.now()
}

// Connected implements podwatch.Keeper.
func (o *Objects) Connected(connected bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.connected = connected
}

// Verified implements podwatch.Keeper.
func (o *Objects) Verified(at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.verifiedAt = at
}

func packPod(pod *corev1.Pod, labels string) (packedPod, error) {
	text, err := redactedCopy(pod).Marshal()
	if err != nil {
		return packedPod{}, fmt.Errorf("encode pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	var packed bytes.Buffer
	if err := flate.StatelessDeflate(&packed, text, true, nil); err != nil {
		return packedPod{}, fmt.Errorf("compress pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return packedPod{
		namespace: pod.Namespace, name: pod.Name, labels: labels,
		object: bytes.Clone(packed.Bytes()),
	}, nil
}

func (p packedPod) unpack() (*corev1.Pod, error) {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(p.object)))
	if err != nil {
		return nil, fmt.Errorf("decompress pod %s/%s: %w", p.namespace, p.name, err)
	}
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("read pod %s/%s: %w", p.namespace, p.name, err)
	}
	pod.Kind, pod.APIVersion = "Pod", "v1"
	return pod, nil
}

// cacheState describes how current the cached objects are.
type cacheState struct {
	Connected  bool     `json:"connected"`
	Age        *float64 `json:"age_seconds,omitempty"`
	VerifiedAt *string  `json:"verified_at"` // null before the first complete comparison
}

// WriteList writes a PodList with the objects for which the function "want" returns true, sorted by namespace and name.
// WriteList decompresses one object at a time.
func (o *Objects) WriteList(w io.Writer, want func(namespace, name, labels string) bool) error {
	pods, version, state := o.snapshot(want)
	head, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode the state of the pod cache: %w", err)
	}
	const begin = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":%q},"cache":%s,"items":[`
	if _, err := fmt.Fprintf(w, begin, version, head); err != nil {
		return err
	}
	for i, p := range pods {
		pod, err := p.unpack()
		if err != nil {
			return err
		}
		text, err := json.Marshal(pod)
		if err != nil {
			return fmt.Errorf("encode pod %s/%s: %w", p.namespace, p.name, err)
		}
		if i > 0 {
			text = append([]byte(","), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "]}\n")
	return err
}

func (o *Objects) snapshot(want func(namespace, name, labels string) bool) ([]packedPod, string, cacheState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pods := make([]packedPod, 0, len(o.pods))
	for _, p := range o.pods {
		if want(p.namespace, p.name, p.labels) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b packedPod) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	state := cacheState{Connected: o.connected}
	if !o.receivedAt.IsZero() {
		state.Age = new(max(0, o.now().Sub(o.receivedAt).Round(time.Millisecond).Seconds()))
	}
	if !o.verifiedAt.IsZero() {
		state.VerifiedAt = new(o.verifiedAt.UTC().Format(time.RFC3339Nano))
	}
	return pods, o.version, state
}
