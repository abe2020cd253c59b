// Package proofs checks docs/predecessors.md and docs/threat-model.md, whose tables name the proof of each row: its
// test searches for every test, scenario, flag, metric and file that they name.
package proofs
