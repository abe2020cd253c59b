// Package synthetic simulates a node: the node's pods, the kubelet's requests to the API server, and the container
// runtime that an agent queries. With a synthetic node, hundreds of pods can start on a machine that could not run
// them. The cost for the API server is the same as for real pods.
package synthetic
