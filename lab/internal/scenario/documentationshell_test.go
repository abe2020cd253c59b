package scenario

import (
	"os"
	"os/signal"
	"regexp"
	"strings"
	"testing"
)

// untilSignal is a script that runs until a signal ends it. After its output "ready", the script starts no other
// program, because a new program could lose an early signal. The script reads with a time limit, because the shell runs
// a trap only between two commands.
const untilSignal = "mkfifo never; exec 3<>never; echo ready; while :; do read -r -t 0.05 -u 3; done"

// interruptible lets the commands of a test receive interrupts. If a script runs the tests in the background, its shell
// makes the tests ignore interrupts. The commands would inherit this setting if the tests did not handle interrupts.
func interruptible(t *testing.T) {
	t.Helper()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	t.Cleanup(func() { signal.Stop(interrupts) })
}

// The scenario must fail for each command that does not work as documented.
func TestDocumentedShell(t *testing.T) {
	interruptible(t)
	ready := regexp.MustCompile("ready")
	for _, test := range []struct {
		name, text, wrong string
		run               documentedRun
	}{
		{name: "a command ends", text: "echo a"},
		{name: "a command fails", text: "echo reason >&2; exit 3", wrong: "exit status 3: reason"},
		{name: "the first command of a pipeline fails", text: "false | cat", wrong: "exit status 1"},
		{name: "a command prints nothing on standard output", text: "echo a >&2", wrong: "printed nothing",
			run: documentedRun{shows: true}},
		{name: "a command exits after the interrupt", text: "trap 'exit 0' INT; " + untilSignal,
			run: documentedRun{until: ready, exits: true}},
		{name: "a command fails after the interrupt", text: "trap 'exit 4' INT; " + untilSignal,
			wrong: "exit status 4", run: documentedRun{until: ready, exits: true}},
		{name: "a command dies of the interrupt and must exit", text: "echo ready; exec sleep 60",
			wrong: "signal: interrupt", run: documentedRun{until: ready, exits: true}},
		{name: "a command can die of the interrupt", text: "echo ready; exec sleep 60",
			run: documentedRun{until: ready}},
		{name: "a shell reports the interrupt", text: "trap 'exit 130' INT; " + untilSignal,
			run: documentedRun{until: ready}},
		{name: "another failure after the interrupt", text: "trap 'exit 1' INT; " + untilSignal,
			wrong: "exit status 1", run: documentedRun{until: ready}},
		{name: "the text is only on standard error", text: "echo ready >&2",
			wrong: "before its standard output matched \"ready\"", run: documentedRun{until: ready}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run.text = test.text
			process, err := documentedShell{dir: t.TempDir()}.runCommand(t.Context(), "a.md", test.run)
			if process != nil {
				t.Error("the command still runs")
			}
			switch {
			case test.wrong == "" && err != nil:
				t.Error(err)
			case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
				t.Errorf("error %v, want an error with %q", err, test.wrong)
			}
		})
	}
}

// A command in the background must run until the end of its block.
func TestDocumentedBackground(t *testing.T) {
	interruptible(t)
	for _, test := range []struct{ name, text, wrong string }{
		{"the command runs until the interrupt", "trap 'exit 0' INT; " + untilSignal, ""},
		{"the command ends before the interrupt", "echo ready", "ended before the interrupt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			process, err := documentedShell{dir: t.TempDir()}.runCommand(t.Context(), "a.md", documentedRun{
				text: test.text, until: regexp.MustCompile("ready"), exits: true, stays: true})
			if err != nil {
				t.Fatal(err)
			}
			if test.wrong != "" {
				<-process.ended
			}
			err = stopAll([]*documentedProcess{process})
			switch {
			case test.wrong == "" && err != nil:
				t.Error(err)
			case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
				t.Errorf("error %v, want an error with %q", err, test.wrong)
			}
		})
	}
}
