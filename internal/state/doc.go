// Package state owns the state file, in which an agent leaves data for the next agent on the node. The file contains
// observations and the UIDs of the reported pods. The observations belong to unreported start-ups and to terminations
// in progress. An agent that is killed loses at most its latest observations. The sources, such as the API server,
// send most of the lost observations again to the next agent.
//
// Open reads the file when the agent starts. A Saver then holds the data. The goroutine of Saver.Run writes the
// changes to the file. Package reconcile and the sinks call the Saver from any goroutine and never wait for the disk.
//
// # What survives
//
// The file holds observations in the stable format of package recording. An agent can therefore read the file of an
// older agent. The file does not hold the evidence: the facts that the agent derives from the observations. The next
// agent derives the evidence again. Neither the order of the observations nor repeated observations change the
// evidence. For each pod, the file holds the latest pod object and the observations that changed the evidence.
//
// # The order
//
// The Saver records a pod as reported only after all sinks are done with the pod's start-up. A sink is done when it
// has written or sent the report. A sink that drops the report is also done, unless the agent is stopping. If the agent
// crashes before the Saver records the pod, the next agent reports the pod's start-up again, with the same ID. So a
// crash can repeat a report, but cannot lose a report.
//
// # The file
//
// The file consists of one or more sections. Each section consists of lines of JSON:
//
//   - a header with the version of the format and the node
//   - a line for each reported pod
//   - a line for each pod whose data the agent removed, for example because the pod's object was removed
//   - the observations of unreported start-ups and of terminations in progress, in the format of package recording
//   - an end line with a checksum of all previous lines of the file
//
// The first section contains all data that the Saver had when it wrote the section. While pods start, the agent saves
// several times per second. So each save only appends a section with the changes. When the appended sections become
// large, a save replaces the whole file with one section. A reader ignores an unfinished section at the end, because
// an agent can be killed while it appends a section. If the first section is unfinished, or if a finished section is
// invalid, the agent ignores the whole file.
package state
