// Package startuptest supports tests of what the agent reports: it has start-ups with known values, and checks records
// against their JSON schemas and files in testdata.
package startuptest
