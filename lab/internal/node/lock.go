package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Hold waits until no other lab command holds the node's lock, and then locks the node. The caller must call release.
// If the process ends for any reason, the kernel releases the lock.
func (n Node) Hold(ctx context.Context) (release func(), err error) {
	var file *os.File
	const limit = 15 * time.Minute // another command can hold the lock for minutes while it builds programs
	err = n.Report.Wait(ctx, "the end of another lab command", limit, 100*time.Millisecond,
		func(context.Context) error {
			if file != nil {
				_ = file.Close()
			}
			var err error
			if file, err = os.OpenFile(n.Lock(), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
				return err
			}
			if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
				return fmt.Errorf("another lab command holds the lock %s: %w", n.Lock(), err)
			}
			// Down removes the lock file. Another command can then create a new lock file and lock it. Therefore, a
			// lock on the removed file does not exclude other commands.
			mine, err := file.Stat()
			if err != nil {
				return err
			}
			if current, err := os.Stat(n.Lock()); err != nil || !os.SameFile(mine, current) {
				return errors.New("another lab command has just removed the lock file")
			}
			return nil
		})
	if err != nil {
		if file != nil {
			_ = file.Close()
		}
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}
