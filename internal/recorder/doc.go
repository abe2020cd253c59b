// Package recorder makes recordings of an agent's observations, in the format of package recording.
//
// A Recorder runs in parallel with package reconcile. Every source passes its observations to the Recorder, from any
// goroutine and without waiting. The goroutine in Run encodes the observations, keeps the latest lines in a ring and
// appends all lines to a file.
package recorder
