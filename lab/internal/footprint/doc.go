// Package footprint removes everything that a node leaves outside the lab's own directories: container processes,
// mounts, cgroups, directories of the kubelet and containerd, and changed kernel settings. The package searches the
// machine and does not rely on the lab's records, so the package can also clean up after the lab was killed.
package footprint
