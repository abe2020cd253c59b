// Package top combines the events of agents into a table of pods. The table shows starting pods with their current
// phases, and pods that started recently. Only one goroutine uses a Board: the goroutine of the top command. The
// package reads no clock and does no I/O.
package top
