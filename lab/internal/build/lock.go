package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock locks the cache. If another lab command is building into the same cache, the function first waits until this
// build ends. The kernel releases the lock when the process ends for any reason.
func (b Builder) lock(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(b.Cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock build cache: %w", err)
	}
	for stated := false; ; {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("lock build cache: %w", err)
		}
		if !stated {
			b.Report.Say("waiting for another lab command that uses the build cache %s", b.Cache)
			stated = true
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("wait for another lab command that uses the build cache %s: %w", b.Cache,
				ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
