package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// markVariable is an environment variable that every process of a lab has. Child processes inherit the variable. No
// other program sets the variable, so the variable proves that a process belongs to a lab.
const markVariable = "PODLAPSE_LAB_PROCESS"

// environmentMark returns the environment variable that marks the processes of one component, in the form NAME=VALUE.
// The run directory identifies the lab.
func environmentMark(run, component string) string { return markVariable + "=" + run + ":" + component }

// Marked is a process whose environment contains the lab's mark.
type Marked struct {
	Identity
	Component  string // name of the component to which the process belongs
	Executable string // path of the process's program
}

// FindMarked returns the running processes of one lab, but not the calling process. The run directory identifies the
// lab.
func FindMarked(run string) []Marked {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	prefix := []byte(environmentMark(run, ""))
	var found []Marked
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// FindMarked reads the identity before the other data. If another process gets the PID later, this identity
		// does not match the new process.
		id, err := Identify(pid)
		if err != nil || !id.Alive() {
			continue
		}
		environment, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err != nil {
			continue
		}
		for _, variable := range bytes.Split(environment, []byte{0}) {
			component, ok := bytes.CutPrefix(variable, prefix)
			if !ok {
				continue
			}
			executable, _ := os.Readlink("/proc/" + entry.Name() + "/exe")
			found = append(found, Marked{Identity: id, Component: string(component),
				Executable: strings.TrimSuffix(executable, " (deleted)")})
			break
		}
	}
	return found
}
