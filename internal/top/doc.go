// Package top folds the events of agents into a table: what is starting now, where it is stuck, and
// what started recently. A Board is for one goroutine, that of the top command. It reads no clock
// and does no I/O.
package top
