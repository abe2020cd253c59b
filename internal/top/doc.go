// Package top combines the events of agents into a table of pods. The table shows starting pods with their current
// phases, and pods that started recently. Only the goroutine of the command `top` uses a Board. The package reads
// no clock and does no I/O.
package top
