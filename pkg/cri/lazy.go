package cri

import "slices"

// remoteLabels are the labels of snapshots that a lazy snapshotter mounted from the registry, without downloading and
// unpacking the layer. The labels come from stargz and SOCI (snapshot/snapshot.go, remoteLabel), and from nydus for
// eStargz images (pkg/label, StargzLayer).
var remoteLabels = []string{"containerd.io/snapshot/remote", "containerd.io/snapshot/stargz"}

// dataLabels are labels of snapshots whose layer a lazy snapshotter might have mounted. containerd copies dataLabels
// from the annotations of layers that lazy snapshotters can mount. dataLabels alone do not prove that a snapshotter
// mounted the layer, because the snapshot of a downloaded layer also has dataLabels. The labels come from nydus
// (pkg/label, NydusDataLayer), and from overlaybd with its variant for OCI layers (pkg/label, OverlayBDBlobDigest,
// TurboOCIDigest).
var dataLabels = []string{
	"containerd.io/snapshot/nydus-blob",
	"containerd.io/snapshot/overlaybd/blob-digest",
	"containerd.io/snapshot/overlaybd/turbo-oci/target-digest",
}

// isMounted reports whether a lazy snapshotter mounted a layer, according to the labels of the committed snapshot. The
// argument "absent" is true if the content store does not contain the layer's blob.
func isMounted(labels map[string]string, absent bool) bool {
	has := func(label string) bool { _, ok := labels[label]; return ok }
	return slices.ContainsFunc(remoteLabels, has) || absent && slices.ContainsFunc(dataLabels, has)
}
