// Package sink passes items from producers to outputs, with one bounded queue for each output. A producer offers items
// without waiting. The goroutine that calls Run delivers the items. If an output is slow, blocked or absent, the queue
// drops items and counts the drops. The capacity of a queue limits its memory, and a slow output never slows down the
// caller or other outputs.
//
// JSON records, the recording of observations and OTLP traces have one queue each. cmd/agent starts and stops the
// queues.
package sink
