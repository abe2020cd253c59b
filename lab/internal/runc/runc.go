// Package runc implements the program runc-without-limits. On some nodes, cgroup v2 lacks the controllers for memory
// and CPU. On such a node, runc cannot create a container that has limits. Therefore, containerd runs this program
// instead of runc.
package runc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// ProgramName is the file name of the program.
const ProgramName = "runc-without-limits"

// Main removes the limits from the configuration of a new container, and then replaces the current process with runc.
// Main passes its arguments and its environment to runc. Main finds runc in PATH. Main returns only after a failure.
// The result is the exit code.
func Main(args, environment []string, stderr io.Writer) int {
	err := prepare(args)
	if err == nil {
		err = execute(args, environment)
	}
	fmt.Fprintf(stderr, "%s: %v\n", ProgramName, err)
	return 1
}

func execute(args, environment []string) error {
	program, err := exec.LookPath("runc")
	if err != nil {
		return fmt.Errorf("find runc: %w", err)
	}
	return fmt.Errorf("execute %s: %w", program, syscall.Exec(program, args, environment))
}

// prepare changes the configuration of a new container. containerd passes the flag --bundle only to the commands that
// create containers. Without this flag, prepare does nothing.
func prepare(args []string) error {
	flag := slices.Index(args, "--bundle")
	if flag < 0 {
		return nil
	}
	if flag+1 == len(args) {
		return errors.New("the flag --bundle requires a directory")
	}
	path := filepath.Join(args[flag+1], "config.json")
	config, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the container's configuration: %w", err)
	}
	if config, err = withoutLimits(config); err != nil {
		return fmt.Errorf("remove the resource limits from %s: %w", path, err)
	}
	if err := os.WriteFile(path, config, 0o600); err != nil { // the file exists, so WriteFile does not change its mode
		return fmt.Errorf("write the container's configuration: %w", err)
	}
	return nil
}

type object = map[string]json.RawMessage

// withoutLimits removes all resource limits. If the OOM score adjustment is negative, withoutLimits also removes the
// adjustment, because only privileged processes can set a negative value. The device rules remain, because cgroup v2
// needs no controller for device rules.
func withoutLimits(config []byte) ([]byte, error) {
	var spec object
	if err := json.Unmarshal(config, &spec); err != nil {
		return nil, err
	}
	err := errors.Join(
		change(spec, "process", func(process object) error {
			var score int
			if json.Unmarshal(process["oomScoreAdj"], &score) == nil && score < 0 {
				delete(process, "oomScoreAdj")
			}
			return nil
		}),
		change(spec, "linux", func(linux object) error {
			return change(linux, "resources", func(resources object) error {
				maps.DeleteFunc(resources, func(name string, _ json.RawMessage) bool { return name != "devices" })
				return nil
			})
		}))
	if err != nil {
		return nil, err
	}
	return json.Marshal(spec)
}

// change parses one member of a JSON object, calls the function "edit" for this member, and stores the result in the
// object. If the member is missing, change does nothing.
func change(parent object, name string, edit func(object) error) error {
	text, ok := parent[name]
	if !ok {
		return nil
	}
	var child object
	if err := json.Unmarshal(text, &child); err != nil {
		return fmt.Errorf("parse %s: %w", name, err)
	}
	if err := edit(child); err != nil {
		return err
	}
	changed, err := json.Marshal(child)
	parent[name] = changed
	return err
}
