package podwatch

import (
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// maxFrame is the largest event of an Event watch that is read, in bytes. Kubelet's have some hundred, and a few KiB
// where the runtime explains a failure at length. etcd stores 1.5 MiB: client-go would take five times that to read
// it, and keep a buffer of 2 MiB for as long as the watch is open, for each of DefaultEventWatches.
const maxFrame = 128 << 10

// tooLargeAnnotation marks the bookmark that stands for an event that was too large to be read. An Event cannot
// pretend to be one: only the API server sends bookmarks.
const tooLargeAnnotation = "podlapse/too-large"

// isTooLarge says that an event stands for one that was too large to be read.
func isTooLarge(kind watch.EventType, event *corev1.Event) bool {
	_, marked := event.Annotations[tooLargeAnnotation]
	return kind == watch.Bookmark && marked
}

// smallEvents is a serializer that reads watches of Events, each of at most maxFrame.
type smallEvents struct {
	runtime.NegotiatedSerializer
	types []runtime.SerializerInfo
}

func newSmallEvents(inner runtime.NegotiatedSerializer) (smallEvents, error) {
	s := smallEvents{NegotiatedSerializer: inner}
	for _, info := range inner.SupportedMediaTypes() {
		if info.StreamSerializer != nil {
			instead, err := tooLargeFrame(info)
			if err != nil {
				return smallEvents{}, fmt.Errorf("encode bookmark as %s: %w", info.MediaType, err)
			}
			stream := *info.StreamSerializer
			stream.Framer = smallFrames{stream.Framer, instead}
			info.StreamSerializer = &stream
		}
		s.types = append(s.types, info)
	}
	return s, nil
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s smallEvents) SupportedMediaTypes() []runtime.SerializerInfo { return s.types }

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

// smallFrames reads frames of at most maxFrame; each that is longer is skipped, and another takes its place.
type smallFrames struct {
	runtime.Framer
	instead []byte
}

// NewFrameReader implements runtime.Framer.
func (f smallFrames) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &smallFrameReader{ReadCloser: f.Framer.NewFrameReader(r), instead: f.instead, buffer: make([]byte, 4<<10)}
}

type smallFrameReader struct {
	io.ReadCloser // gives io.ErrShortBuffer while more of a frame is to come
	instead       []byte
	buffer        []byte
	rest          []byte // of the frame that is being read
}

// Read implements io.Reader as a frame reader does: with io.ErrShortBuffer while more of the frame is to come.
func (r *smallFrameReader) Read(into []byte) (int, error) {
	if len(r.rest) == 0 {
		var err error
		if r.rest, err = r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(into, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// next reads a whole frame.
func (r *smallFrameReader) next() ([]byte, error) {
	used := 0
	for {
		n, err := r.ReadCloser.Read(r.buffer[used:])
		used += n
		switch {
		case err == nil:
			return r.buffer[:used], nil
		case !errors.Is(err, io.ErrShortBuffer):
			return nil, err
		case used < len(r.buffer): // the reader gave less than there was room for
		case len(r.buffer) < maxFrame:
			r.buffer = append(r.buffer, make([]byte, len(r.buffer))...)
		default:
			for errors.Is(err, io.ErrShortBuffer) {
				_, err = r.ReadCloser.Read(r.buffer)
			}
			if err != nil {
				return nil, err
			}
			return r.instead, nil
		}
	}
}
