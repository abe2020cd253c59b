package web

import (
	"context"
	"fmt"
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"

	"go.uber.org/zap"
)

// The default and the maximum length of a CPU profile, in seconds.
const (
	defaultProfile = 10
	maxProfile     = 60
)

// profiles serves profiles of the agent. The command `go tool pprof` reads the profiles.
type profiles struct {
	on     bool
	one    chan struct{} // semaphore with capacity 1: one profile at a time
	logger *zap.Logger
}

func newProfiles(config Config) profiles {
	return profiles{config.Profiles, make(chan struct{}, 1), config.Logger}
}

func (h profiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("profile")
	kept := pprof.Lookup(name)
	switch {
	case !h.on:
		writeError(w, http.StatusNotFound, "not_found",
			"the agent does not serve profiles: start the agent with --debug-profiles=on")
		return
	case name != "profile" && name != "heap" && name != "allocs" && name != "goroutine":
		writeError(w, http.StatusNotFound, "not_found", fmt.Sprintf("unknown profile %.40q: must be heap, allocs, "+
			"goroutine or profile", name))
		return
	}
	length, err := profileLength(r.URL.Query().Get("seconds"))
	if err != nil {
		writeError(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	select {
	case h.one <- struct{}{}:
		defer func() { <-h.one }()
	default:
		writeRetry(w, http.StatusServiceUnavailable, "unavailable", "another profile is in progress: try again later")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if kept != nil {
		err = kept.WriteTo(w, 0)
	} else {
		err = profileProcessor(r.Context(), w, length)
	}
	if err != nil {
		h.logger.Debug("cannot send a profile", zap.Error(err))
	}
}

func profileLength(given string) (time.Duration, error) {
	if given == "" {
		return defaultProfile * time.Second, nil
	}
	seconds, err := strconv.Atoi(given)
	if err != nil || seconds < 1 || seconds > maxProfile {
		return 0, fmt.Errorf("seconds: invalid value %.40q: must be 1 to %d", given, maxProfile)
	}
	return time.Duration(seconds) * time.Second, nil
}

// profileProcessor records a CPU profile and writes it to w. The recording stops after the time in the argument
// "length", or when the client disconnects.
func profileProcessor(ctx context.Context, w http.ResponseWriter, length time.Duration) error {
	// If the connection is closed, SetWriteDeadline returns an error, and the next write fails too.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(length + writeTimeout))
	if err := pprof.StartCPUProfile(w); err != nil {
		writeRetry(w, http.StatusServiceUnavailable, "unavailable", err.Error())
		return err
	}
	defer pprof.StopCPUProfile()
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
	return nil
}
