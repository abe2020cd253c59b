// Package synthetic simulates a node and its pods. The package sends the requests of a kubelet to the API server, and
// simulates the container runtime that an agent queries. Hundreds of synthetic pods can start on a machine that is too
// small for hundreds of real pods. For synthetic pods, the API server does the same work as for real pods.
package synthetic
