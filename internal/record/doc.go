// Package record keeps observations as text, so that what happened on a node can be folded again
// anywhere: a recording is a bug report that becomes a test.
//
// A recording is lines of JSON. The first is a header with the version of the format; each other line
// is one observation, tagged by its kind. Encode, EncodeHeader, Reader and Replay are pure. A Recorder
// stands beside reconcile: every source hands it what it observed, from any goroutine and without ever
// waiting; the goroutine of its Run encodes, keeps the latest lines in a ring and appends all of them
// to a file.
//
// # What a recording tells
//
// Exactly the fields of timeline's observations: names, images, states, instants, and kubelet's
// messages about pulls and failures as its Events have them. No environment, command, label but the
// recommended app.kubernetes.io ones, annotation, volume or credential of a pod ever becomes an
// observation, so none is in a recording.
//
// # Promise
//
// Within a version of the format, fields and values may be added, and a reader ignores fields it does
// not know. A field is never renamed or given another meaning, and none is needed that was not needed
// before. Whatever else changes, or a new kind of observation, raises the version; readers go on to
// read every older one. A kind or version that a reader does not know is an error that says so.
package record
