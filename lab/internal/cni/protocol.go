// Package cni is the lab's network plugin. The plugin assigns an address from 127.2.0.0/16 to each pod and creates no
// network interface. Scenarios can make the plugin slow or make it fail. The plugin logs the start and the end of each
// ADD command. Scenarios compare a pod's network phase with this log.
//
// The plugin implements versions 0.4.0 to 1.1.0 of the Container Network Interface protocol. The package uses only the
// standard library, because it is compiled into a small static program that containerd runs.
package cni

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// NetworkName is the name of the lab's network. libcni uses this name as the prefix of its cache files.
const NetworkName = "podlapse-lab"

// PluginName is the file name of the program.
const PluginName = "podlapse-lab-cni"

// The error codes of the CNI specification.
const (
	codeIncompatible = 1
	codeEnvironment  = 4
	codeInput        = 6
	codeInjected     = 100 // the CNI specification reserves codes from 100 for plugins
	codeAddress      = 101
)

// supported returns the supported versions of the protocol, with the oldest version first.
func supported() []string { return []string{"0.4.0", "1.0.0", "1.1.0"} }

// Configuration is the network configuration that the runtime writes to the plugin's standard input.
type Configuration struct {
	CNIVersion string          `json:"cniVersion"`
	Name       string          `json:"name,omitempty"`
	Type       string          `json:"type,omitempty"`
	FaultsFile string          `json:"faultsFile,omitempty"` // path of the faults file; see the type Faults
	LogFile    string          `json:"logFile,omitempty"`    // path of the log; see the type Entry
	LeaseDir   string          `json:"leaseDir,omitempty"`   // directory with one file for each address in use
	Valid      []attachment    `json:"cni.dev/valid-attachments,omitempty"`
	Previous   json.RawMessage `json:"prevResult,omitempty"`
}

type attachment struct {
	ContainerID string `json:"containerID"`
	Interface   string `json:"ifname"`
}

type result struct {
	CNIVersion string             `json:"cniVersion"`
	Interfaces []networkInterface `json:"interfaces"`
	IPs        []address          `json:"ips"`
}

type networkInterface struct {
	Name    string `json:"name"`
	Sandbox string `json:"sandbox"`
}

type address struct {
	Version   string `json:"version,omitempty"` // "4" if CNIVersion is 0.4.0; absent in later versions of CNI
	Address   string `json:"address"`
	Interface int    `json:"interface"`
}

type failure struct {
	CNIVersion string `json:"cniVersion"`
	Code       int    `json:"code"`
	Message    string `json:"msg"`
}

func (f *failure) Error() string { return f.Message }

func fail(code int, format string, arguments ...any) *failure {
	return &failure{Code: code, Message: fmt.Sprintf(format, arguments...)}
}

// Main runs one command and returns the exit status. Main writes results and errors to stdout, as the protocol
// requires.
func Main(getenv func(string) string, stdin io.Reader, stdout io.Writer) int {
	const most = 1 << 20
	input, err := io.ReadAll(io.LimitReader(stdin, most))
	if err != nil {
		return responseFailure(stdout, "1.0.0", fail(codeInput, "read configuration: %v", err))
	}
	var configuration Configuration
	if err := json.Unmarshal(input, &configuration); err != nil {
		return responseFailure(stdout, "1.0.0", fail(codeInput, "parse configuration: %v", err))
	}
	c := command{getenv: getenv, configuration: configuration}
	response, failed := c.run()
	if failed != nil {
		return responseFailure(stdout, configuration.CNIVersion, failed)
	}
	if response != nil {
		if err := json.NewEncoder(stdout).Encode(response); err != nil {
			return 1
		}
	}
	return 0
}

func responseFailure(stdout io.Writer, version string, f *failure) int {
	f.CNIVersion = version
	_ = json.NewEncoder(stdout).Encode(f)
	return 1
}

// parseArguments parses CNI_ARGS, which contains KEY=VALUE pairs separated by semicolons.
func parseArguments(text string) map[string]string {
	pairs := make(map[string]string)
	for _, pair := range strings.Split(text, ";") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			pairs[key] = value
		}
	}
	return pairs
}
