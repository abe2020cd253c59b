// Package footprint removes what a node leaves on a machine outside the lab's own directories: container processes,
// mounts, cgroups, directories that the kubelet and containerd always create, and kernel settings that the kubelet
// changes. It searches the machine instead of relying on the lab's records, so it also cleans up after a lab that was
// killed.
package footprint
