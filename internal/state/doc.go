// Package state owns the file through which an agent passes its knowledge to its successor: the
// observations of unreported start-ups, and the UIDs of the reported pods. An agent that is killed loses at most the
// observations of its last moments, and the sources report most of these again.
//
// Open reads the file when the agent starts. A Keeper then holds what must survive and writes it,
// from the goroutine of its Run. Reconcile and the sinks call it from any goroutine, and never wait
// for the disk.
//
// # What survives
//
// Evidence is a join: the same observations give the same evidence in any order and number. So the
// file holds observations, in package record's stable text, not the internals of the evidence: an
// agent can read the file of another version. For each pod, it holds the observations that added evidence, and the
// latest pod object.
//
// # The order
//
// A pod is noted as reported only after its record was written and its trace was sent. So after a
// crash in between, the next agent reports it again, under the same ID, and no crash loses a
// report.
//
// # The file
//
// Lines of JSON: a header with the version of the format and the node; a line for each reported
// pod; a recording of the pods in flight; and an end line with a checksum of all lines before. It is replaced as a
// whole, never changed. A file that cannot be read completely is not used at all.
package state
