// Package api has the types of the JSON that leaves the agent: the records of start-ups on standard
// output, and the responses of the read API (docs/records.md, docs/openapi.json). It owns their names
// and units: other packages use time.Time and time.Duration, and this package converts them to Instant and Seconds. A
// field keeps its name and meaning; fields may be added.
//
// Every type decodes what it encodes, so that package client needs nothing else. All functions are
// pure and may be called from any goroutine.
package api
