package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Spec defines how to start one background process.
type Spec struct {
	Name   string
	Path   string   // absolute path of the program
	Args   []string // without the program's name
	Env    []string // added to a minimal environment; the process does not inherit the caller's environment
	Inputs []string // files whose content determines whether a running process is up to date
	Stdout string   // file to which standard output is appended; if empty, standard output goes to the log
	Search string   // directory that is first in PATH
}

// Fingerprint returns a hash that changes if the process must be restarted to match the spec.
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
			return "", fmt.Errorf("fingerprint %s: %w", s.Name, err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Starter starts and records the processes of one lab.
type Starter struct {
	Table Table
	Run   string // the lab's run directory, which is part of the processes' mark
	Logs  string
}

// Start starts the process in its own session, so that the process outlives the caller. Start records the process. If
// the process exits while the caller runs, Start reaps the process.
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
	cmd.Env = append(environment(spec), mark(s.Run, spec.Name))
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
	if err := cmd.Start(); err != nil {
		return Record{}, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	// The PID cannot be reused before the process is reaped, so reading the start tick here is safe.
	id, err := Identify(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }()
	if err != nil {
		return Record{}, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	record := Record{Name: spec.Name, Identity: id, Boot: BootID(), Fingerprint: fingerprint,
		Log: logPath, StartedAt: time.Now()}
	return record, s.Table.Put(record)
}

func environment(spec Spec) []string {
	search := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if spec.Search != "" {
		search = spec.Search + ":" + search
	}
	return append([]string{"PATH=" + search, "HOME=/root", "LANG=C.UTF-8"}, spec.Env...)
}

// Tail returns at most the last n lines of a file. Tail is used for error messages.
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
