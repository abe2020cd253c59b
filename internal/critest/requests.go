package critest

import (
	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	contentapi "github.com/containerd/containerd/api/services/content/v1"
	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Identifiers of the objects in the example requests that the function Requests returns.
const (
	RequestedPod     = "pod"
	RequestedSandbox = "s"
	// digest of an empty blob
	RequestedBlob  = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	RequestedImage = "registry.example/shop:1"
)

// Requests returns one example for each kind of request that the agent sends. The keys of the map are the full names of
// the gRPC methods.
func Requests() map[string]proto.Message {
	pod := map[string]string{"io.kubernetes.pod.uid": RequestedPod}
	const size = 4<<20 + 1
	return map[string]proto.Message{
		"/runtime.v1.RuntimeService/Version": &runtimeapi.VersionRequest{},
		"/runtime.v1.RuntimeService/Status":  &runtimeapi.StatusRequest{},
		"/runtime.v1.RuntimeService/ListPodSandbox": &runtimeapi.ListPodSandboxRequest{
			Filter: &runtimeapi.PodSandboxFilter{LabelSelector: pod}},
		"/runtime.v1.RuntimeService/ListContainers": &runtimeapi.ListContainersRequest{
			Filter: &runtimeapi.ContainerFilter{LabelSelector: pod}},
		"/runtime.v1.RuntimeService/ContainerStatus": &runtimeapi.ContainerStatusRequest{ContainerId: "c"},
		"/runtime.v1.ImageService/ImageStatus": &runtimeapi.ImageStatusRequest{
			Image: &runtimeapi.ImageSpec{Image: RequestedImage}},

		"/containerd.services.sandbox.v1.Store/Get":         &sandboxapi.StoreGetRequest{SandboxID: "s"},
		"/containerd.services.containers.v1.Containers/Get": &containersapi.GetContainerRequest{ID: RequestedSandbox},
		"/containerd.services.images.v1.Images/Get":         &imagesapi.GetImageRequest{Name: RequestedImage},
		"/containerd.services.images.v1.Images/List": &imagesapi.ListImagesRequest{
			Filters: []string{`labels."io.cri-containerd.pinned"==pinned`}},
		"/containerd.services.content.v1.Content/Info":         &contentapi.InfoRequest{Digest: RequestedBlob},
		"/containerd.services.content.v1.Content/ListStatuses": &contentapi.ListStatusesRequest{},
		"/containerd.services.content.v1.Content/List": &contentapi.ListContentRequest{
			Filters: []string{`labels."containerd.io/gc.ref.content.config"`,
				`labels."containerd.io/gc.ref.content.l.0"`}},
		"/containerd.services.content.v1.Content/Read": &contentapi.ReadContentRequest{Digest: RequestedBlob,
			Size: size},
		"/containerd.services.snapshots.v1.Snapshots/Stat": &snapshotsapi.StatSnapshotRequest{
			Snapshotter: "overlayfs", Key: "layer"},
	}
}
