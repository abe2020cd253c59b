package main

import "golang.org/x/sys/unix"

// avoidHugePages turns off transparent huge pages for this process (man 2 PR_SET_THP_DISABLE). On some nodes, the
// kernel gives huge pages to all processes (/sys/kernel/mm/transparent_hugepage/enabled contains "[always]"). On these
// nodes, huge pages would increase the memory of Go's heap by up to a few MiB. If this call fails, the agent only uses
// more memory, so avoidHugePages ignores the error.
func avoidHugePages() { _ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) }
