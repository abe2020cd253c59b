// Package record stores observations as text, so that they can be folded again on any machine: a recording is a bug
// report that becomes a test.
//
// A recording is lines of JSON. The first is a header with the version of the format; each other
// line is one observation, tagged by its kind. Encode, EncodeHeader, Reader and Replay are pure. A
// Recorder runs beside reconcile: every source passes it its observations, from any goroutine and
// without waiting. The goroutine of its Run encodes them, keeps the latest lines in a ring and
// appends all of them to a file.
//
// # What a recording contains
//
// A recording contains exactly the fields of timeline's observations: names, images, states, instants, and the
// kubelet's messages about pulls and failures from its Events. A pod's environment, commands, annotations, volumes,
// credentials, and labels other than the recommended app.kubernetes.io ones never become observations, so no recording
// contains them.
//
// # Promise
//
// Within a version of the format, fields and values may be added, and a reader ignores unknown
// fields. A field is never renamed, never changes its meaning, and never becomes required. Any
// other change, or a new kind of observation, raises the version; readers continue to read every
// older one. A reader reports an unknown kind or version as an error.
package record
