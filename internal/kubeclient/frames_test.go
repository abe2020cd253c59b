package kubeclient

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// TestFramesReleaseLargeBuffer reads a large frame and then small frames, and requires that the reader keeps the large
// buffer only for the first small frames.
func TestFramesReleaseLargeBuffer(t *testing.T) {
	inner := protobufFramer()
	var text bytes.Buffer
	writer := inner.NewFrameWriter(&text)
	sizes := slices.Concat([]int{1 << 20}, slices.Repeat([]int{1}, largeUnused+1))
	for _, size := range sizes {
		if _, err := writer.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	frames := Frames{Max: 16 << 20}
	reader := framer{inner, frames}.NewFrameReader(io.NopCloser(&text)).(*frameReader)
	for i, size := range sizes {
		if n, err := reader.Read(make([]byte, 2<<20)); n != size || err != nil {
			t.Fatalf("frame %d: got %d bytes, %v", i, n, err)
		}
		if kept := len(reader.buffer) > keptBuffer; kept != (i <= largeUnused) {
			t.Errorf("frame %d: the reader keeps a buffer of %d bytes", i, len(reader.buffer))
		}
	}
}

// TestFramesOfEverySize reads frames with sizes around the limit, in pieces of every size.
func TestFramesOfEverySize(t *testing.T) {
	inner := protobufFramer()
	var text bytes.Buffer
	writer := inner.NewFrameWriter(&text)
	const maxFrame = 128 << 10
	sizes := []int{1, 0, 4 << 10, 4<<10 + 1, maxFrame, maxFrame + 1, 3 * maxFrame, 5}
	for i, size := range sizes {
		if _, err := writer.Write(bytes.Repeat([]byte{byte('a' + i)}, size)); err != nil {
			t.Fatal(err)
		}
	}
	for _, piece := range []int{1, 7, 1 << 10, 1 << 20} {
		reader := framer{inner, Frames{Max: maxFrame, Instead: []byte("instead")}}.NewFrameReader(
			io.NopCloser(bytes.NewReader(text.Bytes())))
		for i, size := range sizes {
			want := strings.Repeat(string(rune('a'+i)), size)
			if size > maxFrame {
				want = "instead"
			}
			if size == 0 {
				want = ""
			}
			var got []byte
			for {
				part := make([]byte, piece)
				n, err := reader.Read(part)
				got = append(got, part[:n]...)
				if err == nil {
					break
				}
				if err != io.ErrShortBuffer {
					t.Fatalf("frame %d in pieces of %d: %v", i, piece, err)
				}
			}
			if string(got) != want {
				t.Errorf("frame %d of %d in pieces of %d: got %d bytes", i, size, piece, len(got))
			}
		}
		if _, err := reader.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
}

func protobufFramer() k8sruntime.Framer {
	info, _ := k8sruntime.SerializerInfoForMediaType(
		serializer.NewCodecFactory(k8sruntime.NewScheme()).SupportedMediaTypes(), k8sruntime.ContentTypeProtobuf)
	return info.StreamSerializer.Framer
}
