// Package recording stores observations as text, so that another machine can compute the same timelines. A recording in
// a bug report can become a test.
//
// A recording consists of lines of JSON. The first line is a header with the version of the format. Each other line is
// one observation with its kind. Encode, EncodeHeader, Reader and Replay start no goroutines and never read the current
// time. A Recorder runs in parallel with package reconcile. Every source passes its observations to the Recorder, from
// any goroutine and without waiting. The goroutine in Run encodes the observations, keeps the latest lines in a ring
// and appends all lines to a file.
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
