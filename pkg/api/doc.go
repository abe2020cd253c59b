// Package api defines the types of the agent's JSON output: the records of start-ups on standard output, and the
// responses of the read API (docs/records.md, docs/openapi.json). The package owns the names and units of this
// output. Other packages use time.Time and time.Duration, and this package converts these types to Instant and
// Seconds. Fields keep their names and meanings. New versions can add fields.
//
// Every type can also decode its own output, so package client needs no other types. All functions are pure, and
// any goroutine can call them.
package api
