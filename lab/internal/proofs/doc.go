// Package proofs checks docs/predecessors.md and docs/threat-model.md. The tables in these documents name the proof for
// each row. The package's test searches for every test, scenario, flag, metric and file in these tables.
package proofs
