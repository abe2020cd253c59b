//go:build !linux

package main

// avoidHugePages has no effect, because only Linux gives processes transparent huge pages without a request.
func avoidHugePages() {}
