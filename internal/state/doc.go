// Package state owns the file through which an agent passes its data to the next agent on the node. The data consists
// of two parts: the observations of unreported start-ups and of terminations in progress, and the UIDs of the reported
// pods. An agent that is killed loses at most its latest observations, and the sources repeat most of the lost
// observations.
//
// Open reads the file when the agent starts. A Saver then holds the data and writes the data from the goroutine of
// Saver.Run. Package reconcile and the sinks call the Saver from any goroutine and never wait for the disk.
//
// # What survives
//
// Neither the order of the observations nor repeated observations change the evidence. So the file holds observations
// in the stable format of package recording, and not the evidence itself. An agent can therefore read the file of an
// older agent. For each pod, the file holds the latest pod object and the observations that added evidence.
//
// # The order
//
// The Saver records a pod as reported only after all sinks are done with the pod's start-up. A sink is done when it
// has written or sent the report. A sink that drops the report is also done, unless the agent is stopping. If the agent
// crashes before the Saver has recorded the pod as reported, the next agent reports the pod again under the same ID.
// So a crash can repeat a report, but cannot lose a report.
//
// # The file
//
// The file consists of one or more sections. Each section consists of lines of JSON:
//
//   - a header with the version of the format and the node
//   - a line for each reported pod, and a line for each reported pod whose object was removed
//   - a recording of the unreported start-ups and of the terminations in progress
//   - an end line with a checksum of all previous lines of the file
//
// The first section contains all data that the Saver had when it wrote the section. Each save appends a section with
// the changes, because the agent saves several times per second while pods start. When the appended sections become
// large, a save replaces the whole file with one section. A reader ignores an unfinished section at the end, because an
// agent can be killed while it appends a section. If the first section is unfinished, or if a finished section is
// invalid, the agent ignores the whole file.
package state
