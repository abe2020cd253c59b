//go:build !linux

package main

// avoidHugePages does nothing, because transparent huge pages are a feature of Linux.
func avoidHugePages() {}
