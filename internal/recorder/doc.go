// Package recorder makes recordings of an agent's observations, in the format of package recording.
//
// A Recorder runs in parallel with package reconcile. Every source passes its observations to the Recorder, from any
// goroutine and without waiting. The goroutine in Run encodes each observation as one line. Depending on Config, it
// keeps the latest lines in memory, and appends all lines to a file.
package recorder
