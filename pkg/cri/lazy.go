package cri

import "slices"

// remoteLabels are set by lazy snapshotters on a snapshot that they mounted from the registry
// instead of having the layer downloaded and unpacked: stargz and SOCI (snapshot/snapshot.go,
// remoteLabel), nydus for eStargz images (pkg/label, StargzLayer).
var remoteLabels = []string{"containerd.io/snapshot/remote", "containerd.io/snapshot/stargz"}

// dataLabels are annotations of layers that lazy snapshotters can mount. containerd copies them to
// the snapshot, however the layer arrived: nydus (pkg/label, NydusDataLayer), overlaybd and its
// variant for OCI layers (pkg/label, OverlayBDBlobDigest, TurboOCIDigest).
var dataLabels = []string{
	"containerd.io/snapshot/nydus-blob",
	"containerd.io/snapshot/overlaybd/blob-digest",
	"containerd.io/snapshot/overlaybd/turbo-oci/target-digest",
}

// mounted reports, by the labels of a committed snapshot, whether a lazy snapshotter mounted the
// layer. absent says that the layer's blob is not in the content store.
func mounted(labels map[string]string, absent bool) bool {
	has := func(label string) bool { _, ok := labels[label]; return ok }
	return slices.ContainsFunc(remoteLabels, has) || absent && slices.ContainsFunc(dataLabels, has)
}
