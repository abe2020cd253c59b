// Package proofs checks docs/predecessors.md and docs/threat-model.md. The tables in these documents contain a proof in
// each row, for example a test or a scenario. The test of this package requires that every test, scenario, flag, metric
// and file in these tables exists.
package proofs
