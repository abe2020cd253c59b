package kubeclient

import (
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// Frames limits the size of a watch's encoded events. The limit applies before the client decodes an event. client-go
// calls an encoded event a frame. With the zero value of Frames, the client reads events in the same way as client-go.
type Frames struct {
	// Max is the maximum size of an event in bytes. If Max is zero, Frames has no effect.
	Max int
	// Instead is the replacement for an event that is larger than Max. If Instead is nil, an event that is larger than
	// Max ends the watch with an error.
	Instead []byte
	// Edit converts each event before the client decodes the event. Edit is optional, and can change the bytes in
	// place. Each watch calls Edit from its own goroutine.
	Edit func(event []byte) []byte
}

const (
	// firstBuffer is the initial size of a watch's buffer in bytes.
	firstBuffer = 4 << 10
	// A watch keeps a buffer of at most keptBuffer bytes until the watch ends. It keeps a larger buffer only for some
	// time (see largeUnused). A new large buffer for each large event would cost more.
	keptBuffer = 64 << 10
	// An event is small if it has at most keptBuffer bytes. After largeUnused small events in a row, a watch releases a
	// buffer that is larger than keptBuffer.
	largeUnused = 32
)

// framedSerializer is a serializer that limits and edits the events of watches (see framer).
type framedSerializer struct {
	runtime.NegotiatedSerializer
	types []runtime.SerializerInfo
}

func withFrames(
	inner runtime.NegotiatedSerializer, framesOf func(runtime.SerializerInfo) (Frames, error),
) (runtime.NegotiatedSerializer, error) {
	s := framedSerializer{NegotiatedSerializer: inner}
	for _, info := range inner.SupportedMediaTypes() {
		if info.StreamSerializer != nil {
			frames, err := framesOf(info)
			if err != nil {
				return nil, err
			}
			if frames.Max > 0 {
				stream := *info.StreamSerializer
				stream.Framer = framer{stream.Framer, frames}
				info.StreamSerializer = &stream
			}
		}
		s.types = append(s.types, info)
	}
	return s, nil
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s framedSerializer) SupportedMediaTypes() []runtime.SerializerInfo { return s.types }

// framer creates a frameReader for each watch. The frameReader applies the limits and the edits in the field "frames"
// to each event.
type framer struct {
	runtime.Framer
	frames Frames
}

// NewFrameReader implements runtime.Framer.
func (f framer) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &frameReader{ReadCloser: f.Framer.NewFrameReader(r), frames: f.frames, buffer: make([]byte, firstBuffer)}
}

type frameReader struct {
	io.ReadCloser // client-go's reader; until a frame is complete, Read returns io.ErrShortBuffer
	frames        Frames
	buffer        []byte
	small         int    // number of frames since the last frame larger than keptBuffer
	rest          []byte // unread part of the current frame
}

// Read implements io.Reader. Until the caller has read the whole frame, Read returns io.ErrShortBuffer. The frame
// readers of client-go behave in the same way.
func (r *frameReader) Read(into []byte) (int, error) {
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

// next reads a whole frame. If the frame is larger than Frames.Max, next returns Frames.Instead. If Frames.Instead is
// nil, next returns an error for a frame that is larger than Frames.Max.
func (r *frameReader) next() ([]byte, error) {
	if r.small++; r.small > largeUnused && len(r.buffer) > keptBuffer {
		r.buffer = make([]byte, firstBuffer)
	}
	used := 0
	for {
		n, err := r.ReadCloser.Read(r.buffer[used:])
		if used += n; used > keptBuffer {
			r.small = 0
		}
		switch {
		case err == nil && r.frames.Edit == nil:
			return r.buffer[:used], nil
		case err == nil:
			return r.frames.Edit(r.buffer[:used]), nil
		case !errors.Is(err, io.ErrShortBuffer):
			return nil, err
		case used < len(r.buffer): // the buffer still has room
		case len(r.buffer) < r.frames.Max:
			r.buffer = append(r.buffer, make([]byte, len(r.buffer))...)
		case r.frames.Instead == nil:
			return nil, fmt.Errorf("read watch event: the event is larger than the limit of %d bytes", r.frames.Max)
		default:
			for errors.Is(err, io.ErrShortBuffer) {
				_, err = r.ReadCloser.Read(r.buffer)
			}
			if err != nil {
				return nil, err
			}
			return r.frames.Instead, nil
		}
	}
}
