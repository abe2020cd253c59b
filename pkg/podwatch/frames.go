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

// maxFrame is the largest event of an Event watch that is read, in bytes. The kubelet's have some
// hundred bytes, or a few KiB if the runtime explains a failure at length. etcd stores up to 1.5
// MiB: client-go would take five times that to read such an event, and keep a buffer of 2 MiB for
// as long as the watch is open, for each of DefaultEventWatches.
const maxFrame = 128 << 10

// tooLargeAnnotation marks the bookmark that replaces an event that is too large to read. An Event
// cannot pretend to be one: only the API server sends bookmarks.
const tooLargeAnnotation = "podlapse/too-large"

// isTooLarge reports whether an event replaces one that was too large to read.
func isTooLarge(kind watch.EventType, event *corev1.Event) bool {
	_, marked := event.Annotations[tooLargeAnnotation]
	return kind == watch.Bookmark && marked
}

// adaptedStreams is a serializer with other framers for watches.
type adaptedStreams struct {
	runtime.NegotiatedSerializer
	types []runtime.SerializerInfo
}

func adaptStreams(
	inner runtime.NegotiatedSerializer, framer func(runtime.SerializerInfo) (runtime.Framer, error),
) (adaptedStreams, error) {
	s := adaptedStreams{NegotiatedSerializer: inner}
	for _, info := range inner.SupportedMediaTypes() {
		if info.StreamSerializer != nil {
			adapted, err := framer(info)
			if err != nil {
				return adaptedStreams{}, err
			}
			stream := *info.StreamSerializer
			stream.Framer = adapted
			info.StreamSerializer = &stream
		}
		s.types = append(s.types, info)
	}
	return s, nil
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s adaptedStreams) SupportedMediaTypes() []runtime.SerializerInfo { return s.types }

// newSmallEvents returns a serializer for watches of Events of at most maxFrame each.
func newSmallEvents(inner runtime.NegotiatedSerializer) (adaptedStreams, error) {
	return adaptStreams(inner, func(info runtime.SerializerInfo) (runtime.Framer, error) {
		instead, err := tooLargeFrame(info)
		if err != nil {
			return nil, fmt.Errorf("encode bookmark as %s: %w", info.MediaType, err)
		}
		return wholeFrames{Framer: info.StreamSerializer.Framer, most: maxFrame, instead: instead}, nil
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

// wholeFrames reads frames of limited size. A longer frame is replaced by another or, if there is
// none, reading fails.
type wholeFrames struct {
	runtime.Framer
	most    int
	instead []byte
	prune   func([]byte) []byte // converts a frame; nil leaves it as it is
}

// NewFrameReader implements runtime.Framer.
func (f wholeFrames) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &wholeFrameReader{ReadCloser: f.Framer.NewFrameReader(r), frames: f, buffer: make([]byte, 4<<10)}
}

type wholeFrameReader struct {
	io.ReadCloser // returns io.ErrShortBuffer until the frame is complete
	frames        wholeFrames
	buffer        []byte
	rest          []byte // of the current frame
}

// Read implements io.Reader like a frame reader: it returns io.ErrShortBuffer until the frame is
// complete.
func (r *wholeFrameReader) Read(into []byte) (int, error) {
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
func (r *wholeFrameReader) next() ([]byte, error) {
	used := 0
	for {
		n, err := r.ReadCloser.Read(r.buffer[used:])
		used += n
		switch {
		case err == nil && r.frames.prune == nil:
			return r.buffer[:used], nil
		case err == nil:
			return r.frames.prune(r.buffer[:used]), nil
		case !errors.Is(err, io.ErrShortBuffer):
			return nil, err
		case used < len(r.buffer): // the reader returned less than the buffer had room for
		case len(r.buffer) < r.frames.most:
			r.buffer = append(r.buffer, make([]byte, len(r.buffer))...)
		case r.frames.instead == nil:
			return nil, fmt.Errorf("an event of a watch is larger than %d bytes", r.frames.most)
		default:
			for errors.Is(err, io.ErrShortBuffer) {
				_, err = r.ReadCloser.Read(r.buffer)
			}
			if err != nil {
				return nil, err
			}
			return r.frames.instead, nil
		}
	}
}
