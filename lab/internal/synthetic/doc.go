// Package synthetic simulates a node: the node's pods, the kubelet's requests to the API server, and the container
// runtime that an agent queries. A synthetic node can start hundreds of pods on a machine that is too small for
// hundreds of real pods. The cost for the API server is the same as for real pods.
package synthetic
