// Package footprint removes the traces of a node outside the lab's own directories. These traces are container
// processes, mounts, cgroups, directories of the kubelet and containerd, and kernel settings that the kubelet changes.
// The package searches the machine instead of reading the lab's records. Therefore, the package also cleans up after a
// killed lab.
package footprint
