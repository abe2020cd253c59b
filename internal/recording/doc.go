// Package recording stores observations as text, so that another machine can compute the same timelines. A developer
// can turn the recording from a bug report into a test.
//
// A recording consists of lines of JSON. The first line is a header with the version of the format. Each other line is
// one observation with its kind. The package starts no goroutines and never reads the current time. Package recorder
// makes recordings.
//
// # What a recording contains
//
// A recording contains exactly the fields of the observations in package timeline: names, images, states, times, and
// the messages of kubelet Events about pulls and failures. Observations contain a pod's labels and the annotation
// traceparent. Observations never contain a pod's environment, commands, volumes, credentials, or annotations other
// than traceparent.
//
// # Promise
//
// A newer agent can add fields and values without a new version of the format. A reader ignores unknown fields. A field
// is never renamed, never changes its meaning, and never becomes required. Any change other than a new field or a new
// value increases the version. A new kind of observation also increases the version. Readers can read every older
// version. A reader reports an unknown kind or version as an error.
package recording
