// Package kubeclienttest supports the tests of sources that watch the API server. The type Source runs the
// source that a test examines. Other functions start servers that send given events, or measure memory use.
package kubeclienttest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
)

// Frame encodes a watch event in protobuf, in the same format as the API server.
func Frame(t testing.TB, kind watch.EventType, object runtime.Object) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	types := serializer.NewCodecFactory(scheme).WithoutConversion().SupportedMediaTypes()
	info, ok := runtime.SerializerInfoForMediaType(types, runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("the scheme has no protobuf serializer")
	}
	raw, err := runtime.Encode(info.Serializer, object)
	if err != nil {
		t.Fatal(err)
	}
	text, err := runtime.Encode(info.StreamSerializer.Serializer,
		&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}})
	if err != nil {
		t.Fatal(err)
	}
	var frame bytes.Buffer
	if _, err := info.StreamSerializer.Framer.NewFrameWriter(&frame).Write(text); err != nil {
		t.Fatal(err)
	}
	return frame.Bytes()
}

// Stream starts a server. The server responds to each request with the output of the function "frames". Then the server
// keeps the connection open.
func Stream(t testing.TB, frames func(io.Writer)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		w.(http.Flusher).Flush()
		frames(w)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}
