// Package synthetic simulates a node with its pods, the kubelet's requests to the API server, and the container runtime
// that an agent queries. Hundreds of synthetic pods can start on a machine that is too small for hundreds of real pods.
// The API server does the same work as for real pods.
package synthetic
