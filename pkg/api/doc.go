// Package api defines the types of the agent's JSON output: the records of start-ups on standard output, and the
// responses of the read API (docs/records.md, docs/openapi.json). This package defines the names and units of the
// output. Other packages use time.Time and time.Duration, and this package converts these types to Instant and Seconds.
// New versions can add fields, but never rename a field and never change its meaning.
//
// Every type can also decode its own output, so package client needs no other types. All functions are pure, and any
// goroutine can call them.
package api
