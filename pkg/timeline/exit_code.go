package timeline

const (
	codeSignal        = 128 // runtimes and shells add the number of the signal to 128
	lastSignal        = 64
	signalKill        = 9
	codeKilled        = codeSignal + signalKill
	codeTerminated    = codeSignal + 15 // SIGTERM ended the process
	reasonOutOfMemory = "OOMKilled"     // the kubelet and the runtime report this reason
)

// signalOf returns the signal that an exit code represents, or 0 for none.
func signalOf(code int) int {
	if code > codeSignal && code <= codeSignal+lastSignal {
		return code - codeSignal
	}
	return 0
}

// lostRun reports whether the reason and the exit code mean that the runtime lost track of a run.
func lostRun(reason string, code int) bool { return reason == "Unknown" && code == 255 }
