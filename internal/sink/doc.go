// Package sink passes items from producers to outputs: one bounded queue for each output. A caller
// that must not wait offers items; one goroutine, that of Run, delivers them. A slow, blocked or
// absent output loses the items that it does not deliver, which are counted. It costs nothing else:
// no memory beyond the stated capacity, no time of the caller, and no other output.
//
// JSON records, the recording of observations and OTLP traces have one queue each. cmd/agent starts
// and stops them.
package sink
