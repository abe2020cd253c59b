// Package synthetic simulates a node: its pods, what its kubelet reports to the API server, and the container runtime
// that an agent queries. So hundreds of pods can start on a machine that could not run them, at the same cost for the
// API server as real pods.
package synthetic
