// Package footprint knows what a node leaves on a machine outside the lab's own directories, and
// takes it away again: container processes, mounts, cgroups, directories that kubelet and containerd
// have built in, kernel settings that kubelet changes. It works from what it finds and not from what
// the lab remembers, so it also cleans after a lab that was killed.
package footprint
