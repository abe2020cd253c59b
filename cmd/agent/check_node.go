package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/node"
	"github.com/podlapse/podlapse/internal/recorder"
	"github.com/podlapse/podlapse/internal/state"
	"github.com/podlapse/podlapse/pkg/cri"
)

func checkRuntime(ctx context.Context, c config) finding {
	f := finding{subject: "runtime"}
	if c.criEndpoint.Off() {
		f.outcome, f.detail = checkOff,
			"--cri-endpoint=off: the agent cannot separate volumes, network and sandbox, or pull and unpack"
		return f
	}
	address, runtime, limits, err := cri.Probe(ctx, c.criEndpoint)
	if err != nil {
		f.outcome, f.detail, f.remedy = checkFailed, err.Error(), runtimeRemedy(err.Error())
		return f
	}
	f.outcome, f.detail = checkOK, runtime+" at "+address
	if limits != "" {
		f.detail += ", which does not report " + limits
	}
	return f
}

// runtimeRemedy returns the remedy for a failed test of the container runtime. runtimeRemedy searches the text of the
// error, because gRPC keeps only the text of a connection error. If a runtime accepts connections but does not respond,
// the error texts vary. So if the text is unknown, runtimeRemedy assumes that the runtime does not respond.
func runtimeRemedy(reason string) string {
	switch {
	case strings.Contains(reason, "dial unix "+proxySocket+":"):
		return "check that the container runtime-proxy in the agent's pod runs, and read its log"
	case strings.Contains(reason, "permission denied"):
		return "run the agent as user 0 without capabilities, or in the group that owns the socket; " +
			"if SELinux is enforcing, use the type spc_t"
	case strings.Contains(reason, "connection refused"):
		return "no process listens on this socket: check that the runtime runs (systemctl status containerd, or " +
			"systemctl status crio) and that this path is the runtime's socket"
	case strings.Contains(reason, "no such file or directory"), strings.Contains(reason, "no container runtime socket"):
		return "mount the directory of the runtime's socket into the agent's pod, and set --cri-endpoint=unix:///PATH"
	}
	return "the runtime does not respond: check the runtime's log and the node's load"
}

func checkState(c config) finding {
	f := finding{subject: "state"}
	if c.stateDir == "" {
		f.outcome, f.detail = checkOff, "--state-dir is not set: a restart of the agent loses start-ups in progress"
		return f
	}
	err := state.Probe(c.stateDir)
	switch {
	case err == nil:
		f.outcome, f.detail = checkOK, c.stateDir+" is writable"
	case errors.Is(err, state.ErrInUse):
		f.outcome, f.detail = checkOK, c.stateDir+" is writable; a running agent uses it"
	default:
		f.outcome, f.detail, f.remedy = checkFailed, fmt.Sprintf("%s: %v", c.stateDir, err),
			"use a directory on a local disk that the agent's user can write"
	}
	return f
}

// Without --record-observations, checkRecording returns no finding.
func checkRecording(c config) []finding {
	path := c.recordObservations
	if path == "" {
		return nil
	}
	if err := recorder.Probe(path); err != nil {
		return []finding{{partRecording, checkFailed, fmt.Sprintf("%s: %v", path, err),
			"use a recording or a new file, in an existing directory that the agent's user can write"}}
	}
	return []finding{{partRecording, checkOK, path + " is writable", ""}}
}

// With --pressure=off, checkPressure returns no finding.
func checkPressure(c config) []finding {
	if !c.node.pressure {
		return nil
	}
	if _, err := node.ReadPressure(node.PressureFiles); err != nil {
		return []finding{{"pressure", checkFailed, err.Error(), "boot a kernel with pressure stall information " +
			"(CONFIG_PSI, psi=1), or use --pressure=off"}}
	}
	return []finding{{"pressure", checkOK, "the kernel measures pressure", ""}}
}

// With --node-startup=off, checkBoot returns no finding.
func checkBoot(c config) []finding {
	if !c.node.startUp {
		return nil
	}
	boot, err := node.ReadBoot(c.node.procDir, time.Now())
	if err != nil {
		return []finding{{"boot time", checkFailed, err.Error(), "set --proc-dir to the proc file system of the " +
			"machine, or use --node-startup=off"}}
	}
	return []finding{{"boot time", checkOK, "the machine booted at " + boot.At.Format(time.RFC3339), ""}}
}
