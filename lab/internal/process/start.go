package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Spec defines how to start one background process.
type Spec struct {
	Name   string
	Path   string   // absolute path of the program
	Args   []string // arguments without the name of the program
	Env    []string // variables that Start adds to a minimal environment, which contains none of the caller's variables
	Inputs []string // files whose content is part of the fingerprint
	Stdout string   // file to which the process appends its standard output; if empty, the output goes to the log
	Search string   // directory that Start puts first in the process's PATH; can be empty
	// Start calls Enter in the thread that then starts the process. Enter changes the namespaces of this thread. If
	// Enter is nil, the process has the namespaces of the caller.
	Enter func() error
}

// Fingerprint returns a hash of the spec and its inputs. If the hash of a spec changes, the lab must restart the
// process.
func (s Spec) Fingerprint() (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q %q %q %q\n", s.Path, s.Args, s.Env, s.Stdout, s.Search)
	for _, path := range s.Inputs {
		file, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("compute the fingerprint of %s: %w", s.Name, err)
		}
		_, err = io.Copy(hash, file)
		_ = file.Close()
		if err != nil {
			return "", fmt.Errorf("compute the fingerprint of %s: %w", s.Name, err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Starter starts and records the processes of one lab.
type Starter struct {
	Table Table
	Run   string // run directory of the lab; an environment variable of each process contains this path
	Logs  string
}

// Start starts and records a process. The process runs in its own session, so that it keeps running after the caller
// exits. If the process exits while the caller still runs, a goroutine reaps the process.
func (s Starter) Start(spec Spec) (Record, error) {
	fingerprint, err := spec.Fingerprint()
	if err != nil {
		return Record{}, err
	}
	logPath := filepath.Join(s.Logs, spec.Name+".log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Record{}, fmt.Errorf("open log of %s: %w", spec.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir = "/"
	cmd.Env = append(environment(spec), environmentMark(s.Run, spec.Name))
	cmd.Stdout, cmd.Stderr = log, log
	if spec.Stdout != "" {
		out, err := os.OpenFile(spec.Stdout, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return Record{}, fmt.Errorf("open output of %s: %w", spec.Name, err)
		}
		defer out.Close()
		cmd.Stdout = out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := closeInherited(); err != nil {
		return Record{}, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	if err := launch(cmd, spec.Enter); err != nil {
		return Record{}, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	// Call Identify before Wait. The kernel does not reuse the PID until Wait reaps the process, so Identify reads the
	// start time of the right process.
	id, err := Identify(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }()
	if err != nil {
		return Record{}, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	record := Record{Name: spec.Name, Identity: id, Boot: BootID(), Fingerprint: fingerprint,
		Log: logPath, StartedAt: time.Now()}
	return record, s.Table.Put(record)
}

// closeInherited sets the flag close-on-exec for all open files except standard input, output and error. This process
// might have inherited open files from its caller, for example a pipe or a lock file. Without the flag, a background
// process would keep the pipe open, or hold the lock, until the lab goes down.
func closeInherited() error {
	const firstAfterStderr = 3
	if err := unix.CloseRange(firstAfterStderr, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("set the flag close-on-exec for the inherited files: %w", err)
	}
	return nil
}

// launch calls the function "enter" and then starts a command.
func launch(cmd *exec.Cmd, enter func() error) error {
	if enter == nil {
		return cmd.Start()
	}
	result := make(chan error)
	go func() {
		// This goroutine does not unlock its thread, so the thread ends together with the goroutine. Other goroutines
		// therefore never run in the changed namespaces.
		runtime.LockOSThread()
		if syscall.Gettid() == syscall.Getpid() {
			// The main thread must keep its namespaces, because the main thread cannot end, and /proc/self shows its
			// namespaces. The recursive call starts another goroutine. Until the recursive call returns, this goroutine
			// holds the main thread, so the other goroutine gets another thread.
			defer runtime.UnlockOSThread()
			result <- launch(cmd, enter)
			return
		}
		if err := enter(); err != nil {
			result <- err
			return
		}
		result <- cmd.Start()
	}()
	return <-result
}

func environment(spec Spec) []string {
	search := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if spec.Search != "" {
		search = spec.Search + ":" + search
	}
	return append([]string{"PATH=" + search, "HOME=/root", "LANG=C.UTF-8"}, spec.Env...)
}

// Tail returns at most the last n lines of a file, for error messages.
func Tail(path string, n int) string {
	const most = 64 << 10
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		_, _ = file.Seek(-most, io.SeekEnd)
	}
	data, _ := io.ReadAll(io.LimitReader(file, most))
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
