// Package sink passes items from producers to outputs, with one bounded queue for each output. A producer offers items
// without waiting. The goroutine that calls Run delivers the items. If an output is slow, blocked or absent, the queue
// drops items and counts the drops. The capacity of a queue limits its memory. A slow output never slows down a
// producer or another output.
//
// Each of three outputs has its own queue: JSON records, the recording of observations, and OTLP traces. cmd/agent
// starts and stops the queues.
package sink
