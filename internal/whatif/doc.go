// Package whatif predicts how long a start-up would take after one change, for example if the image were on the node.
// The package computes each prediction from the record of a start-up and a model of the kubelet. In the model, the
// kubelet creates the sandbox, runs the init containers one after the other, and starts the main containers one after
// the other. The probes run in parallel.
//
// Each prediction is an interval. The interval allows for the error bounds of the record, the periods of the kubelet's
// loops and probes, and the random variation of the steps that the change does not affect. If the evidence does not
// limit the effect of a change, Predict makes no prediction for this change. docs/whatif.md describes the model and its
// assumptions.
//
// All functions are pure, are safe to call on any goroutine, and accept records from untrusted servers. The command
// "explain" and the read API call this package.
package whatif
