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

// rule decides which requests to one gRPC method are permitted. A rule permits only the requests that the agent sends.
// The runtime proxy applies the same rules, because an attacker might control the agent. Without rules in the proxy, an
// attacker could set the field "verbose" to read the environment of containers, or could read files in the images of
// other tenants.
type rule struct {
	request  proto.Message
	fields   []string                   // fields that a request can set; a nested field has its full path
	check    func(proto.Message) error  // checks the values of the fields; nil permits any value
	response func(encoded []byte) error // checks the first message of the response; nil permits any message
}

func (r rule) judge(request any) error {
	m, ok := request.(proto.Message)
	if !ok {
		return fmt.Errorf("unexpected request type %T", request)
	}
	if field := unexpectedField(m.ProtoReflect(), "", r.fields); field != "" {
		return fmt.Errorf("the field %q must not be set", field)
	}
	if r.check == nil {
		return nil
	}
	return r.check(m)
}

// unexpectedField returns the name of a field that the request sets, but that is not permitted. The argument "fields"
// lists the permitted fields. If the request sets only permitted fields, the result is empty.
func unexpectedField(m protoreflect.Message, prefix string, fields []string) (name string) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		path := prefix + string(field.Name())
		switch {
		case slices.Contains(fields, path):
		case field.Message() != nil && !field.IsMap() && !field.IsList():
			name = unexpectedField(value.Message(), path+".", fields)
		default:
			name = path
		}
		return name == ""
	})
	return name
}

func sandboxesOfOnePod(m proto.Message) error {
	return selectsOnePod(m.(*runtimeapi.ListPodSandboxRequest).GetFilter().GetLabelSelector())
}

func containersOfOnePod(m proto.Message) error {
	return selectsOnePod(m.(*runtimeapi.ListContainersRequest).GetFilter().GetLabelSelector())
}

// selectsOnePod permits only a selector with exactly one label: the label with the UID of a pod. If a request did not
// contain a UID, the response would contain the annotations of all pods.
func selectsOnePod(selector map[string]string) error {
	if len(selector) != 1 || selector[uidLabel] == "" {
		return fmt.Errorf("the field \"filter.label_selector\" must contain only the label %q with the UID of a pod",
			uidLabel)
	}
	return nil
}

func onlyPinnedImages(m proto.Message) error {
	return checkFilters(m.(*imagesapi.ListImagesRequest).GetFilters(), []string{pinnedFilter})
}

func onlyManifests(m proto.Message) error {
	return checkFilters(m.(*contentapi.ListContentRequest).GetFilters(), manifestFilters)
}

// checkFilters permits only the agent's own filters. A filter from an attacker could contain a regular expression that
// takes much of the runtime's CPU time.
func checkFilters(filters, want []string) error {
	if !slices.Equal(filters, want) {
		return fmt.Errorf("the field \"filters\" must be %q", want)
	}
	return nil
}

// limitedBlobSize permits only requests that limit the size of the response. Without a limit, a response could contain
// a layer of several gigabytes.
func limitedBlobSize(m proto.Message) error {
	if size := m.(*contentapi.ReadContentRequest).GetSize(); size <= 0 || size > maxBlob+1 {
		return fmt.Errorf("the field \"size\" must be 1 to %d", maxBlob+1)
	}
	return nil
}

var errNoDocument = errors.New(
	"the blob is not a JSON object: the agent reads only the manifests, indexes and configurations of images",
)

// onlyJSON requires that the response begins like a JSON object. Manifests and configs are JSON objects. Layers are
// archives with files from the image's author, so onlyJSON refuses layers.
func onlyJSON(encoded []byte) error {
	var part contentapi.ReadContentResponse
	if err := proto.Unmarshal(encoded, &part); err != nil {
		return fmt.Errorf("parse the response: %w", err)
	}
	data := bytes.TrimLeft(part.GetData(), " \t\r\n")
	if len(data) > 0 && data[0] != '{' || len(part.GetData()) > 0 && len(data) == 0 {
		return errNoDocument
	}
	return nil
}
