package clockset

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timer is a timer that never expires, but that the kernel cancels each time the clock is set (man 2
// timerfd_create, TFD_TIMER_CANCEL_ON_SET). The Go runtime waits for the timer together with all network connections.
type timer struct {
	file *os.File
	conn syscall.RawConn
}

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a timer: %w", err)
	}
	t := &timer{file: os.NewFile(uintptr(fd), "timerfd")}
	if t.conn, err = t.file.SyscallConn(); err == nil {
		err = t.arm()
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// arm starts the timer. If the clock was set since the latest wait, the kernel starts the timer, but returns ECANCELED
// (man 2 timerfd_create). The caller then reads the clocks, so arm ignores this error.
func (t *timer) arm() error {
	never := unix.ItimerSpec{Value: unix.NsecToTimespec(math.MaxInt64)}
	var armed error
	err := t.conn.Control(func(fd uintptr) {
		armed = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil)
	})
	if errors.Is(armed, unix.ECANCELED) {
		armed = nil
	}
	if err = errors.Join(err, armed); err != nil {
		return fmt.Errorf("start a timer: %w", err)
	}
	return nil
}

// wait implements alarm. wait starts the timer again before it returns, so that the timer reports a change that happens
// while the caller reads the clocks.
func (t *timer) wait() error {
	var expirations [8]byte
	_, err := t.file.Read(expirations[:])
	switch {
	case err == nil:
		return errors.New("a timer for the far future has expired")
	case !errors.Is(err, unix.ECANCELED):
		return fmt.Errorf("wait for a timer: %w", err)
	}
	return t.arm()
}

// close implements alarm.
func (t *timer) close() { _ = t.file.Close() }

// readAttempts is how often readClocks reads the clocks. Another thread can delay readClocks between two readings, so
// readClocks uses the attempt with the shortest delay.
const readAttempts = 5

func readClocks() (best reading, err error) {
	least := time.Duration(math.MaxInt64)
	for range readAttempts {
		before, err := readClock(unix.CLOCK_BOOTTIME)
		if err != nil {
			return reading{}, err
		}
		clock, err := readClock(unix.CLOCK_REALTIME)
		if err != nil {
			return reading{}, err
		}
		after, err := readClock(unix.CLOCK_BOOTTIME)
		if err != nil {
			return reading{}, err
		}
		if delay := after - before; delay < least {
			least, best = delay, reading{time.Unix(0, int64(clock)).UTC(), before + delay/2}
		}
	}
	return best, nil
}

func readClock(id int32) (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(id, &now); err != nil {
		return 0, fmt.Errorf("read clock %d: %w", id, err)
	}
	return time.Duration(now.Nano()), nil
}
