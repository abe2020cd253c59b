// Package cli is the command line of podlapse: it finds the command that the arguments name, prints help and completes
// words in a shell. It also has the commands of people who query agents (top, explain, pulls) and of people who read a
// recording (replay). They need no part of the agent: a program with only these commands links neither the client of
// the container runtime nor the informers. cmd/agent adds the commands that run and check an agent.
package cli
