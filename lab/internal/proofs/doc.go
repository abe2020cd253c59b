// Package proofs holds the pages whose tables name what proves each row, docs/predecessors.md and docs/threat-model.md,
// against what exists: its test looks for every test, scenario, flag, metric and file that they name.
package proofs
