// Package proofs checks the tables in docs/predecessors.md and docs/threat-model.md. The last column of these tables
// contains a proof, for example a test or a scenario. The tests of this package require that every test, scenario,
// flag, metric and file in the tables exists.
package proofs
