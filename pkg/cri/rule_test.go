package cri

import (
	"bytes"
	"slices"
	"testing"

	content "github.com/containerd/containerd/api/services/content/v1"
	images "github.com/containerd/containerd/api/services/images/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/internal/critest"
)

// TestOtherRequestFieldsAreRefused sets every field of every allowed request. The rules refuse a new field until
// testdata/methods.txt lists the field.
func TestOtherRequestFieldsAreRefused(t *testing.T) {
	methods := readMethods(t)
	for _, table := range []map[string]rule{allowedMethods, allowedStreams} {
		for name, r := range table {
			if !slices.Equal(r.fields, methods[name].fields) {
				t.Errorf("%s may set %v, but testdata/methods.txt has %v", name, r.fields, methods[name].fields)
			}
			if err := r.judge(critest.Requests()[name]); err != nil {
				t.Errorf("%s: the agent's own request was refused: %v", name, err)
			}
			tried := 0
			for path, request := range requestsWithOneField(critest.Requests()[name]) {
				tried++
				want := slices.Contains(r.fields, path)
				if (unexpectedField(request.ProtoReflect(), "", r.fields) == "") != want {
					t.Errorf("%s with %s passes: %t, want %t", name, path, !want, want)
				}
			}
			if tried < len(r.fields) {
				t.Errorf("%s: tried %d fields", name, tried)
			}
		}
	}
}

// requestsWithOneField returns requests that set a single field, for every field.
func requestsWithOneField(request proto.Message) map[string]proto.Message {
	requests := map[string]proto.Message{}
	var walk func(descriptor protoreflect.MessageDescriptor, path []protoreflect.FieldDescriptor)
	walk = func(descriptor protoreflect.MessageDescriptor, path []protoreflect.FieldDescriptor) {
		for i := range descriptor.Fields().Len() {
			field := descriptor.Fields().Get(i)
			at := append(slices.Clone(path), field)
			if field.Message() != nil && !field.IsMap() && !field.IsList() {
				walk(field.Message(), at)
				continue
			}
			made := request.ProtoReflect().New()
			name := setField(made, at)
			requests[name] = made.Interface()
		}
	}
	walk(request.ProtoReflect().Descriptor(), nil)
	return requests
}

func setField(m protoreflect.Message, path []protoreflect.FieldDescriptor) (name string) {
	field := path[0]
	if len(path) > 1 {
		return string(field.Name()) + "." + setField(m.Mutable(field).Message(), path[1:])
	}
	switch {
	case field.IsMap():
		m.Mutable(field).Map().Set(protoreflect.ValueOfString("k").MapKey(), protoreflect.ValueOfString("v"))
	case field.IsList():
		m.Mutable(field).List().Append(protoreflect.ValueOfString("v"))
	case field.Kind() == protoreflect.BoolKind:
		m.Set(field, protoreflect.ValueOfBool(true))
	case field.Kind() == protoreflect.Int64Kind:
		m.Set(field, protoreflect.ValueOfInt64(1))
	case field.Kind() == protoreflect.EnumKind: // proto3 does not encode the first value
		m.Set(field, protoreflect.ValueOfEnum(1))
	case field.Kind() == protoreflect.StringKind:
		m.Set(field, protoreflect.ValueOfString("v"))
	default:
		panic("no value for " + field.FullName()) // no request has a field of this kind
	}
	return string(field.Name())
}

// TestRequestFieldValues checks the allowed fields that permit only some values.
func TestRequestFieldValues(t *testing.T) {
	pod := map[string]string{uidLabel: "u"}
	for _, test := range []struct {
		method  string
		request proto.Message
		want    bool
	}{
		{"/runtime.v1.RuntimeService/ListPodSandbox", &runtimeapi.ListPodSandboxRequest{}, false},
		{"/runtime.v1.RuntimeService/ListPodSandbox",
			&runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: pod}}, true},
		{"/runtime.v1.RuntimeService/ListContainers",
			&runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{}}, false},
		{"/runtime.v1.RuntimeService/ListContainers", &runtimeapi.ListContainersRequest{
			Filter: &runtimeapi.ContainerFilter{LabelSelector: map[string]string{"app": "x"}}}, false},
		{"/containerd.services.images.v1.Images/List", &images.ListImagesRequest{}, false},
		{"/containerd.services.images.v1.Images/List",
			&images.ListImagesRequest{Filters: []string{"name~=(a+)+"}}, false},
		{"/containerd.services.content.v1.Content/List", &content.ListContentRequest{}, false},
		{"/containerd.services.content.v1.Content/Read", &content.ReadContentRequest{Digest: "d"}, false},
		{"/containerd.services.content.v1.Content/Read",
			&content.ReadContentRequest{Digest: "d", Size: maxBlob + 2}, false},
		{"/containerd.services.content.v1.Content/Read", &content.ReadContentRequest{Digest: "d", Size: -1}, false},
		{"/containerd.services.content.v1.Content/Read",
			&content.ReadContentRequest{Digest: "d", Size: maxBlob + 1}, true},
	} {
		call, ok := Allowed(test.method)
		if !ok {
			t.Fatalf("%s is not allowed", test.method)
		}
		data, err := proto.Marshal(test.request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call.Request(data); (err == nil) != test.want {
			t.Errorf("%s %v: %v", test.method, test.request, err)
		}
	}
}

// TestUnknownFieldsAreNotSent checks that Call.Request removes a field that this version does not know.
func TestUnknownFieldsAreNotSent(t *testing.T) {
	call, _ := Allowed("/runtime.v1.RuntimeService/ContainerStatus")
	known, err := proto.Marshal(&runtimeapi.ContainerStatusRequest{ContainerId: "c"})
	if err != nil {
		t.Fatal(err)
	}
	sent, err := call.Request(append(slices.Clone(known), 0xf8, 0x07, 1)) // sets the unknown field number 127
	if err != nil || !bytes.Equal(sent, known) {
		t.Errorf("sent %x, %v; want %x", sent, err, known)
	}
	if _, err := call.Request([]byte{0xff}); err == nil {
		t.Error("an invalid message passes")
	}
}

// TestOnlyManifestsAreRead checks that the connection refuses to read layers, because layers contain files of the
// image's author.
func TestOnlyManifestsAreRead(t *testing.T) {
	call, _ := Allowed("/containerd.services.content.v1.Content/Read")
	for text, want := range map[string]bool{
		`{"schemaVersion": 2}`: true, "\n\t {}": true, "": true,
		"\x1f\x8b\x08": false, "\x28\xb5\x2f\xfd": false, "etc/passwd\x00": false, " \n": false, "[{}]": false,
	} {
		data, err := proto.Marshal(&content.ReadContentResponse{Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Response(func() []byte { return data }); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
