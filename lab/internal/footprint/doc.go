// Package footprint removes what a node leaves on the machine. The package kills the processes of containers. The
// package removes the containers' cgroups and the mounts in the lab's own directories. The package also removes the
// files and directories that the kubelet, libcni and containerd create outside the lab's own directories. The package
// also resets the kernel settings that the node changed. The package searches the machine for containers and mounts, so
// it can also clean up after a lab that was killed.
package footprint
