// Package footprint removes the traces of a node outside the lab's own directories: container processes, mounts,
// cgroups, directories that the kubelet and containerd always create, and kernel settings that the kubelet changes. It
// searches the machine instead of reading the lab's records. Therefore, it also cleans up after a lab that was killed.
package footprint
