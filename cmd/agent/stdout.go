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

// readerLooks is how often standard output is asked whether anybody reads it.
const readerLooks = 2 * time.Second

// watchReader returns a function that runs until ctx is done, or until nobody reads out any more, which is its error. A
// node may start no pod for hours, and without this the agent would find out only then. What is no pipe, socket or
// terminal always has a reader.
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

// readerGone asks without waiting. poll(2) tells of an error unasked, and of a pipe's write end that its readers are
// gone is one.
func readerGone(file *os.File) bool {
	raw, err := file.SyscallConn()
	if err != nil {
		return false // a write will tell
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

// discards says that out is /dev/null. Go's runtime opens that, to read and to write, where the agent was started with
// standard output closed (runtime, checkfds), and so do those who mean it (daemon(3), Python's subprocess.DEVNULL):
// which of both it is nothing tells.
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
