// Package top folds what agents tell, as it happens, into what starts now, where it is stuck, and
// what has started lately, and shows it as a table. A Board is for one goroutine, reads no clock
// and does no I/O.
package top
