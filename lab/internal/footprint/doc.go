// Package footprint removes what a node leaves on the machine: container processes, cgroups, mounts in the lab's own
// directories, and the files and directories that the kubelet, libcni and containerd create outside these directories.
// The package also resets the kernel settings that the node changed. The package searches the machine for containers
// and mounts, so it can also clean up after a lab that was killed.
package footprint
