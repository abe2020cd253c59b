// Package predecessors holds docs/predecessors.md, which says where each capability of older systems is, against what there is: its
// test looks for every test, scenario, flag, metric and file that is named there.
package predecessors
