package podwatch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// asLarge fills a pod up to etcd's size limit. The pod's name and UID end in three digits.
func asLarge(fill func(*corev1.Pod)) *corev1.Pod {
	p := pod("large-000", "uid-000")
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	p.ResourceVersion = "7"
	fill(p)
	return p
}

func environment(p *corev1.Pod) {
	for i := range 1400 {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env,
			corev1.EnvVar{Name: fmt.Sprint("V", i), Value: strings.Repeat("x", 1000)})
	}
}

func manyContainers(p *corev1.Pod) {
	for i := range 18000 {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c", i), Image: "registry.example/image:1",
			ImagePullPolicy: corev1.PullAlways, TerminationMessagePath: "/dev/termination-log",
		})
	}
}

func annotated(p *corev1.Pod) {
	p.Annotations = map[string]string{"note": strings.Repeat("x", 250<<10)}
	p.Labels = map[string]string{}
	for i := range 5000 {
		p.Labels[fmt.Sprint("label-", i)] = strings.Repeat("x", 60)
	}
	for i := range 20 {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("m", i), Subresource: "status", Operation: metav1.ManagedFieldsOperationUpdate,
			FieldsV1: metav1.NewFieldsV1(`{"f:` + strings.Repeat("x", 40<<10) + `":{}}`),
		})
	}
}

// manyPods is an API server with many copies of one pod. The server does not keep the copies in memory, and responds
// in protobuf.
type manyPods struct {
	pod   []byte // encoded pod
	frame []byte // an event of a watch with the pod
	end   []byte // the bookmark after the initial events of a watch
	count int
	// streams is true if the server supports streaming lists. A streaming list is a list in the initial events of a
	// watch.
	streams bool
}

func newManyPods(t testing.TB, large *corev1.Pod, count int, streams bool) *manyPods {
	text, err := large.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	bookmark := &corev1.Pod{TypeMeta: large.TypeMeta}
	bookmark.ResourceVersion = "9"
	bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return &manyPods{
		pod: text, frame: kubeclienttest.Frame(t, watch.Added, large),
		end:   kubeclienttest.Frame(t, watch.Bookmark, bookmark),
		count: count, streams: streams,
	}
}

// numberPod writes a number into the names and UIDs of an encoded pod, and returns the same slice.
func numberPod(text []byte, n int) []byte {
	for _, prefix := range []string{"large-", "uid-"} {
		for i, at := 0, 0; ; i += at + 1 {
			if at = bytes.Index(text[i:], []byte(prefix)); at < 0 {
				break
			}
			copy(text[i+at+len(prefix):], fmt.Sprintf("%03d", n))
		}
	}
	return text
}

func (s *manyPods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	switch {
	case values.Get("watch") == "":
		w.Header().Set("Content-Type", k8sruntime.ContentTypeProtobuf)
		s.writeAll(w)
	case values.Get("sendInitialEvents") == "true" && !s.streams:
		http.Error(w, "sendInitialEvents is forbidden", http.StatusUnprocessableEntity)
	default:
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		w.(http.Flusher).Flush()
		if values.Get("sendInitialEvents") == "true" {
			for n := range s.count {
				_, _ = w.Write(numberPod(s.frame, n))
			}
			_, _ = w.Write(s.end)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// writeAll writes all pods and ignores the limit, like an API server that responds from its watch cache.
func (s *manyPods) writeAll(w io.Writer) {
	writeList(w, func(write func([]byte)) {
		for n := range s.count {
			write(numberPod(s.pod, n))
		}
	}, s.count*(1+len(binary.AppendUvarint(nil, uint64(len(s.pod))))+len(s.pod)))
}

func bytesField(field int, value []byte) []byte {
	return append(binary.AppendUvarint([]byte{byte(field<<3 | 2)}, uint64(len(value))), value...)
}

// writeList writes a PodList whose items have the given total size.
func writeList(w io.Writer, items func(write func(pod []byte)), size int) {
	meta := &metav1.ListMeta{ResourceVersion: "9"}
	metaText, _ := meta.Marshal()
	typeText, _ := (&k8sruntime.TypeMeta{APIVersion: "v1", Kind: "PodList"}).Marshal()
	head := bytesField(1, metaText)
	_, _ = io.WriteString(w, protobufMagic)
	_, _ = w.Write(bytesField(1, typeText))
	_, _ = w.Write(binary.AppendUvarint([]byte{2<<3 | 2}, uint64(len(head)+size)))
	_, _ = w.Write(head)
	items(func(pod []byte) {
		_, _ = w.Write(binary.AppendUvarint([]byte{2<<3 | 2}, uint64(len(pod))))
		_, _ = w.Write(pod)
	})
	_, _ = w.Write(bytesField(3, nil)) // contentEncoding
	_, _ = w.Write(bytesField(4, nil))
}

func podClientFor(t *testing.T, url string) rest.Interface {
	return kubeclienttest.Client(t, url, NewClient)
}

// manyVolumes adds volumes that need 16 times their encoded size as Go values.
func manyVolumes(pod *corev1.Pod) {
	for i := range 85_000 {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("%06d", i),
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
}

// TestManyLargePodsTakeLittleMemory creates sixty pods of 1.4 MB on the node. The test lists the pods in each way
// that the agent uses, and measures the peak memory use. The agent's memory limit is 90 MiB. As Go values, containers
// need 20 times their encoded size.
func TestManyLargePodsTakeLittleMemory(t *testing.T) {
	for name, test := range map[string]struct {
		fill func(*corev1.Pod)
		pods int
		most int
	}{
		"environment": {environment, 60, 20 << 20}, "metadata": {annotated, 60, 24 << 20},
		"containers": {manyContainers, 10, 24 << 20}, // fewer containers, because they are slow
		"volumes":    {manyVolumes, 10, 24 << 20},
	} {
		large, pods, most := asLarge(test.fill), test.pods, test.most
		if size := large.Size(); size < 1100<<10 || size > 1500<<10 {
			t.Fatalf("%s: the pod has %d bytes", name, size)
		}
		for how, streams := range map[string]bool{"list": false, "streaming list": true} {
			t.Run(name+", "+how, func(t *testing.T) {
				server := httptest.NewServer(newManyPods(t, large, pods, streams))
				defer server.Close()
				defer server.CloseClientConnections()
				defer debug.SetGCPercent(debug.SetGCPercent(10))
				var source *Pods
				peak := kubeclienttest.PeakHeap(func() {
					ctx, stop := context.WithCancel(t.Context())
					synced := make(chan struct{}, 1024)
					source = NewPods(Config{Client: podClientFor(t, server.URL), NodeName: nodeName, Now: time.Now,
						Observe: func(context.Context, timeline.Observation) {},
						Report: func(up bool, detail string) {
							if up && strings.Contains(detail, "the latest list had") {
								synced <- struct{}{}
							}
						}})
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						_ = source.Run(ctx)
					}()
					select {
					case <-synced:
					case <-time.After(kubeclienttest.Patience):
						t.Error("never synced")
					}
					stop()
					<-ended
				})
				t.Logf("%.1f MiB at most", float64(peak)/(1<<20))
				if peak > most {
					t.Errorf("%d bytes were in use, want at most %d", peak, most)
				}
				if len(source.store.seen) != pods {
					t.Errorf("observed %d pods", len(source.store.seen))
				}
			})
		}
		t.Run(name+", comparison", func(t *testing.T) {
			server := httptest.NewServer(newManyPods(t, large, pods, false))
			defer server.Close()
			defer server.CloseClientConnections()
			defer debug.SetGCPercent(debug.SetGCPercent(10))
			source := NewPods(Config{Client: podClientFor(t, server.URL), NodeName: nodeName, Now: time.Now})
			versions := map[string]string{}
			peak := kubeclienttest.PeakHeap(func() {
				_, err := source.ListPage(t.Context(), metav1.ListOptions{Limit: 100}, func(pod *corev1.Pod) {
					versions[string(pod.UID)] = pod.ResourceVersion
				})
				if err != nil {
					t.Error(err)
				}
			})
			t.Logf("%.1f MiB at most", float64(peak)/(1<<20))
			if peak > most || len(versions) != pods {
				t.Errorf("%d bytes were in use, want at most %d; %d pods", peak, most, len(versions))
			}
		})
	}
}

// decodeWholeProtobuf decodes a list with all fields of its pods.
func decodeWholeProtobuf(reader *bufio.Reader, take func(*corev1.Pod)) (metav1.ListMeta, error) {
	return decodePodsProtobuf(reader, take, true)
}

// TestDecodePods decodes the output of Kubernetes' own serializers, and lists that are truncated at every byte.
func TestDecodePods(t *testing.T) {
	want := corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "on"},
		Items:    []corev1.Pod{*pod("a", "1"), *pod("b", "2")},
	}
	want.Items[1].Annotations = map[string]string{"long": strings.Repeat("x", 100)}
	scheme := k8sruntime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, info := range serializer.NewCodecFactory(scheme).WithoutConversion().SupportedMediaTypes() {
		decode := decodePodsJSON
		switch info.MediaType {
		case k8sruntime.ContentTypeProtobuf:
			decode = decodeWholeProtobuf
		case k8sruntime.ContentTypeJSON:
		default:
			continue
		}
		read := func(text []byte) (corev1.PodList, error) {
			got := corev1.PodList{TypeMeta: want.TypeMeta}
			var err error
			got.ListMeta, err = decode(bufio.NewReader(bytes.NewReader(text)), func(p *corev1.Pod) {
				got.Items = append(got.Items, *p)
			})
			return got, err
		}
		text, err := k8sruntime.Encode(info.Serializer, &want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, got %+v", info.MediaType, err, got)
		}
		for end := range bytes.TrimSpace(text) {
			if got, err := read(text[:end]); err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: a list truncated after %d of %d bytes is accepted as %+v", info.MediaType, end,
					len(text), got)
			}
		}
		nodes := &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
		other, err := k8sruntime.Encode(info.Serializer, nodes)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(other); err == nil {
			t.Errorf("%s: a list of nodes is accepted", info.MediaType)
		}
	}
	var huge bytes.Buffer
	writeList(&huge, func(func([]byte)) { huge.Write(binary.AppendUvarint([]byte{2<<3 | 2}, 1<<40)) }, 1<<40)
	_, err := decodeWholeProtobuf(bufio.NewReader(&huge), func(*corev1.Pod) {})
	if err == nil || !strings.Contains(err.Error(), "exceeds the limit") {
		t.Errorf("a pod of a terabyte: %v", err)
	}
}

func FuzzDecodePods(f *testing.F) {
	var list bytes.Buffer
	text, _ := pod("a", "1").Marshal()
	writeList(&list, func(write func([]byte)) { write(text) }, 2+len(text))
	f.Add(list.Bytes())
	f.Add([]byte(`{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a"}},null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, decode := range []func(*bufio.Reader, func(*corev1.Pod)) (metav1.ListMeta, error){
			decodePodsJSON, decodeWholeProtobuf,
		} {
			if _, err := decode(bufio.NewReader(bytes.NewReader(text)), func(*corev1.Pod) {}); errors.Is(err, io.EOF) {
				t.Errorf("%q: the end of the text is accepted as the end of the list", text)
			}
		}
	})
}
