// Package startuptest supports tests of the agent's outputs. The package contains start-ups with known values. The
// package also compares records with their JSON schemas and with files in testdata.
package startuptest
