package main

import "golang.org/x/sys/unix"

// avoidHugePages excludes the process from transparent huge pages. On nodes that give huge pages to all processes
// (/sys/kernel/mm/transparent_hugepage/enabled contains "[always]"), Go's heap would otherwise occupy up to a few MiB
// more memory than it needs. If the kernel refuses, the agent only needs more memory, so avoidHugePages ignores the
// error (man 2 PR_SET_THP_DISABLE).
func avoidHugePages() { _ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) }
