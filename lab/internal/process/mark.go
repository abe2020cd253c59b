package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// markVariable is set for every process of a lab, and is inherited by what they start. No user sets
// it, so finding it is proof of ownership.
const markVariable = "PODLAPSE_LAB_PROCESS"

// mark is the environment entry of one component of the lab with the given run directory.
func mark(run, component string) string { return markVariable + "=" + run + ":" + component }

// Marked is a process found through its environment.
type Marked struct {
	Identity
	Component  string // the component that it is, or that started it
	Executable string // path of its program
}

// FindMarked lists the living processes of the lab with the given run directory, except the caller.
func FindMarked(run string) []Marked {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	prefix := []byte(mark(run, ""))
	var found []Marked
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Identity first: if the pid changes hands in between, the identity will not match later.
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
