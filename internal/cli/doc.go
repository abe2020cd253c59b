// Package cli is the command line of podlapse. The package finds the command to run, prints help and completes words
// in a shell. The package contains the commands that query agents (explain, top, pulls, node, nodes, registries,
// report, page) and the command that reads a recording (replay). The package does not depend on a client of the
// container runtime or on the pod watch. cmd/agent adds the commands that run and check an agent.
package cli
