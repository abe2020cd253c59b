// Package state owns the one file through which an agent leaves to the next what it knows: the
// observations of start-ups that are not reported yet, and the pods that are. An agent that is killed at
// any moment loses at most what came in the last moments before, of which the sources tell most again.
//
// Open reads the file when the agent starts. A Keeper then holds what must survive and writes it, from the
// goroutine of its Run; reconcile and the sinks tell it what happened, from any goroutine and
// without ever waiting for the disk.
//
// # What survives
//
// Evidence is a join: the same observations give the same evidence in any order and number. So it is
// observations that are kept, in package record's stable text, not the insides of the evidence: an agent
// reads what another version left. Of each pod those are kept that were news, and the latest pod object.
//
// # The order
//
// A pod is noted as reported only after its record was written and its trace was sent. So a crash
// in between makes the next agent report it again, under the same ID, and no crash makes it report
// nothing.
//
// # The file
//
// Lines of JSON: a header with the version of the format and the node; a line for each reported pod; a
// recording of what is in flight; and an end line with a checksum of all before. It is replaced as a whole,
// never changed. What cannot be read in full is not read at all.
package state
