// Package recorder makes recordings of an agent's observations, in the format of package recording.
//
// A Recorder runs in parallel with package reconcile. Every source passes its observations to the Recorder, from any
// goroutine and without waiting. The goroutine in Run encodes each observation as one line. Depending on Config, this
// goroutine keeps the latest lines in memory, appends all lines to a file, or does both.
package recorder
