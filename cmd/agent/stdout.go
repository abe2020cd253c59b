package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readerLooks is the interval between checks for a reader of standard output.
const readerLooks = 2 * time.Second

// watchReader returns a function that repeatedly checks whether the output has a reader. The returned function ends
// with an error if the reader is gone, and with nil when ctx is done. Without watchReader, the agent would discover a
// missing reader only when it writes the next record, possibly hours later. Only pipes, sockets and terminals have
// readers, so the check has no effect on other files.
func watchReader(out io.Writer, every time.Duration) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		looks := time.NewTicker(every)
		defer looks.Stop()
		for {
			if file, ok := out.(*os.File); ok && readerGone(file) {
				return fmt.Errorf("cannot write records: no process reads standard output any more: %w: restart the "+
					"agent", unix.EPIPE)
			}
			select {
			case <-looks.C:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// readerGone reports whether a file, for example a pipe, has lost its reader. readerGone does not block. If a pipe has
// no readers, poll(2) reports POLLERR, even if the caller did not request POLLERR.
func readerGone(file *os.File) bool {
	raw, err := file.SyscallConn()
	if err != nil {
		return false // the next write of a record returns this error
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		polled := []unix.PollFd{{Fd: int32(fd)}}
		for {
			_, err := unix.Poll(polled, 0)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		gone = polled[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return err == nil && gone
}

// isDevNull reports whether an output is /dev/null. Some programs connect standard output to /dev/null to discard the
// output. If standard output is closed at the start of a Go program, Go's runtime opens /dev/null as standard output
// (function checkfds). So the agent cannot distinguish a closed standard output from /dev/null.
func isDevNull(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	null, nullErr := os.Stat(os.DevNull)
	if err != nil || nullErr != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	want, wantOK := null.Sys().(*syscall.Stat_t)
	return ok && wantOK && is.Rdev == want.Rdev
}
