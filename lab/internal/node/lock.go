package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Hold waits until no other lab command changes this node, and keeps others out until release. The
// kernel drops the lock with the process, however that ends.
func (n Node) Hold(ctx context.Context) (release func(), err error) {
	var file *os.File
	const limit = 15 * time.Minute // a cold build of somebody else
	err = n.Report.Wait(ctx, "another lab command that is at work", limit, 100*time.Millisecond, func(context.Context) error {
		if file != nil {
			_ = file.Close()
		}
		var err error
		if file, err = os.OpenFile(n.Lock(), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
			return err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return fmt.Errorf("%s is held: %w", n.Lock(), err)
		}
		// Down removes the file: a lock on a removed one keeps nobody out.
		mine, err := file.Stat()
		if err != nil {
			return err
		}
		if current, err := os.Stat(n.Lock()); err != nil || !os.SameFile(mine, current) {
			return errors.New("it was just removed")
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
