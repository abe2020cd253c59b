package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// markVariable is set for every process of a lab and inherited by its children. Nothing else sets it, so it proves
// ownership.
const markVariable = "PODLAPSE_LAB_PROCESS"

// mark is the environment entry for one component of the lab with this run directory.
func mark(run, component string) string { return markVariable + "=" + run + ":" + component }

// Marked is a process found by its environment.
type Marked struct {
	Identity
	Component  string // the component, or the one that started the process
	Executable string // path of its program
}

// FindMarked lists the running processes of the lab with this run directory, except the caller.
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
		// Read the identity first. If the PID is reused in between, the identity will not match later.
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
