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

// readerLooks is how often the agent checks whether standard output has a reader.
const readerLooks = 2 * time.Second

// watchReader returns a function that runs until ctx is done, or fails when out no longer has a reader. A node may
// start no pod for hours, and without this check the agent would notice only at the next record. Anything but a pipe,
// socket or terminal always has a reader.
func watchReader(out io.Writer, every time.Duration) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		looks := time.NewTicker(every)
		defer looks.Stop()
		for {
			if file, ok := out.(*os.File); ok && readerGone(file) {
				return fmt.Errorf("cannot write records: standard output was closed: %w", unix.EPIPE)
			}
			select {
			case <-looks.C:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// readerGone does not block. poll(2) reports errors without being asked for them; a pipe without readers is such an
// error for its write end.
func readerGone(file *os.File) bool {
	raw, err := file.SyscallConn()
	if err != nil {
		return false // the next write reports it
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		asked := []unix.PollFd{{Fd: int32(fd)}}
		for {
			_, err := unix.Poll(asked, 0)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		gone = asked[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return err == nil && gone
}

// discards reports whether out is /dev/null. Go's runtime opens /dev/null if the agent was started with standard output
// closed (runtime, checkfds), and so do programs that discard output on purpose (daemon(3), Python's
// subprocess.DEVNULL). The agent cannot distinguish the two cases.
func discards(out io.Writer) bool {
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
