// Package sink is the way from where things happen to who delivers them: one bounded queue for each output. A caller
// that must not wait offers; one goroutine, that of Run, delivers. An output that is slow, stuck or gone costs what it
// does not deliver, which is counted, and nothing else: no memory beyond the stated capacity, no time of the caller, no
// other output.
//
// JSON records, the recording of observations and OTLP traces have one each; cmd/agent starts and stops them.
package sink
