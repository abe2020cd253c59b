package cri

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// rule says what may be asked of a method: no more than the agent asks. Else whoever takes over the agent could read
// the environment of containers (verbose), or the files of other tenants' images.
type rule struct {
	request proto.Message
	fields  []string                   // that a request may set; those of a message in a message have its name before
	check   func(proto.Message) error  // of the values of these fields; nil: any will do
	answer  func(encoded []byte) error // of the first message of the answer; nil: any will do
}

func (r rule) judge(request any) error {
	m, ok := request.(proto.Message)
	if !ok {
		return fmt.Errorf("unexpected request type %T", request)
	}
	if field := beyond(m.ProtoReflect(), "", r.fields); field != "" {
		return fmt.Errorf("field %s must not be set", field)
	}
	if r.check == nil {
		return nil
	}
	return r.check(m)
}

// beyond names a field that is set and is none of those.
func beyond(m protoreflect.Message, prefix string, fields []string) (name string) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		path := prefix + string(field.Name())
		switch {
		case slices.Contains(fields, path):
		case field.Message() != nil && !field.IsMap() && !field.IsList():
			name = beyond(value.Message(), path+".", fields)
		default:
			name = path
		}
		return name == ""
	})
	return name
}

func onePodsSandboxes(m proto.Message) error {
	return onePod(m.(*runtimeapi.ListPodSandboxRequest).GetFilter().GetLabelSelector())
}

func onePodsContainers(m proto.Message) error {
	return onePod(m.(*runtimeapi.ListContainersRequest).GetFilter().GetLabelSelector())
}

// onePod wants the UID of a pod, and nothing besides: a list without it tells the annotations of all pods.
func onePod(selector map[string]string) error {
	if len(selector) != 1 || selector[uidLabel] == "" {
		return fmt.Errorf("filter.label_selector must be %s, with the UID of a pod", uidLabel)
	}
	return nil
}

func pinnedImagesAlone(m proto.Message) error {
	return exactly(m.(*imagesapi.ListImagesRequest).GetFilters(), []string{pinnedFilter})
}

func manifestsAlone(m proto.Message) error {
	return exactly(m.(*contentapi.ListContentRequest).GetFilters(), manifestFilters)
}

// exactly takes no other filters than the agent's own: they can hold regular expressions, which cost the runtime time.
func exactly(filters, want []string) error {
	if !slices.Equal(filters, want) {
		return fmt.Errorf("filters must be %q", want)
	}
	return nil
}

// smallBlob wants a limit: a layer can be gigabytes.
func smallBlob(m proto.Message) error {
	if size := m.(*contentapi.ReadContentRequest).GetSize(); size <= 0 || size > maxBlob+1 {
		return fmt.Errorf("size must be 1 to %d", maxBlob+1)
	}
	return nil
}

var errNoDocument = errors.New(
	"the blob is not a JSON object: only manifests, indexes and configurations of images are read",
)

// jsonAlone wants the answer to begin as a JSON object does, as all manifests and configurations are. Layers are
// archives, compressed or not, and hold files of whoever made the image.
func jsonAlone(encoded []byte) error {
	var part contentapi.ReadContentResponse
	if err := proto.Unmarshal(encoded, &part); err != nil {
		return fmt.Errorf("parse the answer: %w", err)
	}
	data := bytes.TrimLeft(part.GetData(), " \t\r\n")
	if len(data) > 0 && data[0] != '{' || len(part.GetData()) > 0 && len(data) == 0 {
		return errNoDocument
	}
	return nil
}
