// Package cli is the command line of podlapse. The package finds the command to run, prints help and completes words in
// a shell. The package contains the commands that query agents (explain, top, pulls, nodes, registries, page) and the
// command that reads a recording (replay). The commands of this package need no part of the agent. A program that has
// only the commands of this package contains no client of the container runtime and no informers. cmd/agent adds the
// commands that run and check an agent.
package cli
