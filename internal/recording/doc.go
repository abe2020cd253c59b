// Package recording stores observations as text, so that another machine can compute the same timelines. A recording in
// a bug report can become a test.
//
// A recording consists of lines of JSON. The first line is a header with the version of the format. Each other line is
// one observation with its kind. The package starts no goroutines and never reads the current time. Package recorder
// makes recordings.
//
// # What a recording contains
//
// A recording contains exactly the fields of timeline's observations: names, images, states, times, and the messages of
// kubelet Events about pulls and failures. Observations contain a pod's labels and the annotation traceparent.
// Observations never contain a pod's environment, commands, volumes, credentials, or annotations other than
// traceparent.
//
// # Promise
//
// A newer agent can add fields and values without a new version of the format. A reader ignores unknown fields. A field
// is never renamed, never changes its meaning, and never becomes required. All changes except new fields and new values
// raise the version. A new kind of observation raises the version. Readers can read every older version. A reader
// reports an unknown kind or version as an error.
package recording
