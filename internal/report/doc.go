// Package report finds the nodes, registries, images and workloads of a fleet that cost the most start-up time. The
// command report adds the sums of all agents (package tally), and prints the result as text, JSON or HTML.
//
// Lost time has one definition: observed time minus the time that the others need for the same work. The package
// computes the factors of nodes and registries with package factor. For images, the same work is a pull. For workloads
// and causes, the same work is a start-up.
//
// The package is pure. Its types are not safe for concurrent use. The names in a Report come from agents, so the caller
// must clean them before it prints them.
package report
