// Package proofs checks the proofs in the tables of docs/predecessors.md and docs/threat-model.md. A proof is, for
// example, a test or a scenario. The test of this package requires that every test, scenario, flag, metric and file in
// the tables exists.
package proofs
