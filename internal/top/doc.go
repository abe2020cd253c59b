// Package top combines the events of agents into a table of pods. The table shows the current phase of each pod that is
// starting. The table also shows the pods that started recently. Only the goroutine of the command `top` uses a Board.
// The package reads no clock and does no I/O.
package top
