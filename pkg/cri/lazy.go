package cri

import "slices"

// A lazy snapshotter can mount a layer from the registry, without downloading and unpacking the layer. A label in
// remoteLabels shows that a lazy snapshotter mounted the layer of a snapshot. stargz and SOCI use the first label
// (snapshot/snapshot.go, remoteLabel). nydus uses the second label for eStargz images (pkg/label, StargzLayer).
var remoteLabels = []string{"containerd.io/snapshot/remote", "containerd.io/snapshot/stargz"}

// dataLabels are the labels of the snapshots of layers that a lazy snapshotter can mount. containerd copies dataLabels
// from the annotations of these layers. dataLabels alone do not prove that a snapshotter mounted the layer. If
// containerd downloaded the layer, its snapshot also has dataLabels. nydus uses the first label (pkg/label,
// NydusDataLayer). overlaybd uses the second label, and its variant for OCI layers uses the third label (pkg/label,
// OverlayBDBlobDigest, TurboOCIDigest).
var dataLabels = []string{
	"containerd.io/snapshot/nydus-blob",
	"containerd.io/snapshot/overlaybd/blob-digest",
	"containerd.io/snapshot/overlaybd/turbo-oci/target-digest",
}

// isMounted reports whether a lazy snapshotter mounted a layer. The argument "labels" contains the labels of the
// layer's committed snapshot. The argument "absent" is true if the content store does not contain the layer's blob.
func isMounted(labels map[string]string, absent bool) bool {
	has := func(label string) bool { _, ok := labels[label]; return ok }
	return slices.ContainsFunc(remoteLabels, has) || absent && slices.ContainsFunc(dataLabels, has)
}

// localSnapshotters returns the names of snapshotters that never use a registry: the snapshotters of containerd itself,
// and fuse-overlayfs. The agent assumes that every other snapshotter is lazy.
func localSnapshotters() []string {
	return []string{"aufs", "blockfile", "btrfs", "devmapper", "erofs", "fuse-overlayfs", "native", "overlayfs", "zfs"}
}
