package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/podlapse/podlapse/internal/node"
	"github.com/podlapse/podlapse/internal/state"
	"github.com/podlapse/podlapse/pkg/cri"
)

func checkRuntime(ctx context.Context, c config) finding {
	f := finding{subject: "runtime"}
	if c.criEndpoint.Off() {
		f.outcome, f.detail = checkOff,
			"--cri-endpoint=off: phases between the pull and the start of a container are less precise"
		return f
	}
	address, runtime, err := cri.Probe(ctx, c.criEndpoint)
	if err != nil {
		f.outcome, f.detail, f.remedy = checkFailed, err.Error(), runtimeRemedy(err.Error())
		return f
	}
	f.outcome, f.detail = checkOK, runtime+" at "+address
	return f
}

// runtimeRemedy depends on the text, because gRPC keeps nothing else of an error. If a runtime accepts a connection and
// does not answer, gRPC's error has one of several texts, so every text that no case below matches counts as this
// failure.
func runtimeRemedy(reason string) string {
	switch {
	case strings.Contains(reason, "dial unix "+proxySocket+":"):
		return "check that the container runtime-proxy in the agent's pod runs, and read its log"
	case strings.Contains(reason, "permission denied"):
		return "run the agent as user 0 (no capability is needed) or in the group that owns the socket; " +
			"with SELinux enforcing, as type spc_t"
	case strings.Contains(reason, "connection refused"):
		return "no process listens on this socket: check that the runtime runs (systemctl status containerd or " +
			"crio), and that this is its socket"
	case strings.Contains(reason, "no such file or directory"), strings.Contains(reason, "no container runtime socket"):
		return "mount the directory of the runtime's socket into the agent's pod, and set --cri-endpoint=unix:///PATH"
	}
	return "the runtime does not answer: check its log and the load of the node"
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

// checkPressure has no finding if it is off.
func checkPressure(c config) []finding {
	if !c.node.pressure {
		return nil
	}
	if _, err := node.ReadPressure(node.PressureFiles); err != nil {
		return []finding{{"pressure", checkFailed, err.Error(), "boot a kernel that measures pressure, or use " +
			"--pressure=off"}}
	}
	return []finding{{"pressure", checkOK, "the kernel measures pressure", ""}}
}

// checkProbes reports what was validated when the flags were read. It does not run the probes.
func checkProbes(c config) []finding {
	if c.probes.load == nil {
		return nil
	}
	return []finding{{"probes", checkOK, c.probes.read.String(), ""}}
}
