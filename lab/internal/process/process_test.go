package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func starter(t *testing.T) Starter {
	dir := t.TempDir()
	return Starter{Table: Table{Dir: dir}, Run: dir, Logs: dir}
}

func sleeper(name string) Spec {
	return Spec{Name: name, Path: "/bin/sh", Args: []string{"-c", "echo hello; exec sleep 60"}}
}

func TestStartAndStop(t *testing.T) {
	s := starter(t)
	record, err := s.Start(sleeper("one"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = record.Stop(0) })
	known, ok := s.Table.Get("one")
	if !ok || known.Identity != record.Identity || !known.Alive() {
		t.Fatalf("the table has %+v", known)
	}
	deadline := time.Now().Add(30 * time.Second)
	for Tail(record.Log, 1) != "hello" && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	// During the system call execve, a process has no readable environment for a moment.
	found := FindMarked(s.Run)
	for len(found) == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
		found = FindMarked(s.Run)
	}
	if len(found) != 1 || found[0].Identity != record.Identity || found[0].Component != "one" {
		t.Errorf("found by mark: %+v", found)
	}
	if len(FindMarked(s.Run+"x")) != 0 {
		t.Error("another lab's mark also finds the process")
	}
	if err := known.Stop(5 * time.Second); err != nil || known.Alive() {
		t.Errorf("after stop: alive %v, %v", known.Alive(), err)
	}
	if Tail(record.Log, 1) != "hello" {
		t.Errorf("log %q", Tail(record.Log, 1))
	}
}

func TestStartClosesInheritedFiles(t *testing.T) {
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_NONBLOCK); err != nil { // not O_CLOEXEC, as in a shell
		t.Fatal(err)
	}
	reader := os.NewFile(uintptr(pipe[0]), "pipe")
	defer reader.Close()
	record, err := starter(t).Start(sleeper("one"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = record.Stop(0) })
	if err := syscall.Close(pipe[1]); err != nil {
		t.Fatal(err)
	}
	if err := reader.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	// The pipe ends only after every process has closed it.
	if n, err := reader.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes, %v; want the end of the pipe", n, err)
	}
}

func TestReusedPIDIsNotSignaled(t *testing.T) {
	s := starter(t)
	record, err := s.Start(sleeper("one"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = record.Stop(0) })
	// The record has the same PID but another start time, as if the kernel had reused the PID.
	other := record
	other.Start++
	if other.Alive() {
		t.Error("another process with the recorded PID counts as the recorded process")
	}
	if err := other.Stop(0); err != nil {
		t.Error(err)
	}
	if !record.Alive() {
		t.Error("another process with the recorded PID was killed")
	}
	other = record
	other.Boot = "an earlier one"
	if other.Alive() {
		t.Error("a process of an earlier boot counts as alive")
	}
}

func TestStopKillsAfterGracePeriod(t *testing.T) {
	s := starter(t)
	stubborn := Spec{Name: "stubborn", Path: "/bin/sh",
		Args: []string{"-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"}}
	record, err := s.Start(stubborn)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); Tail(record.Log, 1) != "up" && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if err := record.Stop(50 * time.Millisecond); err != nil || record.Alive() {
		t.Errorf("alive %v, %v", record.Alive(), err)
	}
}

// TestEnterAffectsOnlyTheProcess uses the file mode mask, because a thread can change its own mask without root.
func TestEnterAffectsOnlyTheProcess(t *testing.T) {
	s := starter(t)
	const mask = 0o137
	spec := Spec{Name: "one", Path: "/bin/sh", Args: []string{"-c", "umask; exec sleep 60"}, Enter: func() error {
		if err := syscall.Unshare(syscall.CLONE_FS); err != nil {
			return err
		}
		syscall.Umask(mask)
		return nil
	}}
	record, err := s.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = record.Stop(0) })
	for deadline := time.Now().Add(time.Minute); Tail(record.Log, 1) == "" && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if got := Tail(record.Log, 1); got != "0137" {
		t.Errorf("the process has the mask %q", got)
	}
	own := syscall.Umask(0)
	syscall.Umask(own)
	if own == mask {
		t.Error("Enter changed the mask of this program")
	}
	spec.Enter = func() error { return errors.New("no such namespace") }
	if _, err := s.Start(spec); err == nil || !strings.Contains(err.Error(), "no such namespace") {
		t.Errorf("after a failed Enter: %v", err)
	}
}

func TestParseStat(t *testing.T) {
	tail := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	for _, name := range []string{"(sh)", "(a b)", "(odd ) Z 1 (name))"} {
		got, err := parseStat("123 " + name + tail)
		if err != nil || got.state != 'S' || got.start != 4711 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, line := range []string{"", "1 (sh", "1 (sh) S 1", "1 (sh) S" + strings.Repeat(" x", 30)} {
		if _, err := parseStat(line); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

func TestFingerprintDependsOnArgumentsAndInputs(t *testing.T) {
	input := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(input, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Name: "one", Path: "/p", Args: []string{"a b"}, Inputs: []string{input}}
	of := func(s Spec) string {
		f, err := s.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := of(spec)
	changed := spec
	changed.Args = []string{"a", "b"}
	if of(changed) == first {
		t.Error("the fingerprint ignores the arguments")
	}
	if err := os.WriteFile(input, []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if of(spec) == first {
		t.Error("the fingerprint ignores the input file")
	}
}
