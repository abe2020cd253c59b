package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/pkg/client"
)

// The exit codes; docs/cli.md tells of them.
const (
	exitOK          = 0
	exitFailed      = 1   // in a way that has no code of its own
	exitUsage       = 2   // wrong arguments or settings: nothing was tried
	exitNotFound    = 3   // who was asked knows no such pod or node
	exitUnreachable = 4   // the API server or the agent cannot be reached, or cannot answer now
	exitForbidden   = 5   // who asks is not known, or may not
	exitPartial     = 6   // some agents did not answer; what the others said is printed
	exitInterrupted = 130 // as shells have it for SIGINT
)

// exitOf is the code for what asking ended with.
func exitOf(err error) int {
	var refused *client.Refusal
	var network net.Error
	var request *url.Error
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, agents.ErrNotBound), errors.Is(err, errUnknownPod):
		return exitNotFound
	case errors.Is(err, agents.ErrNoAgent):
		return exitUnreachable
	case errors.As(err, &refused):
		return exitOfRefusal(refused)
	case errors.Is(err, client.ErrNotAnAgent):
		return exitFailed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network), errors.As(err, &request):
		return exitUnreachable
	}
	return exitFailed
}

func exitOfRefusal(refused *client.Refusal) int {
	switch {
	case refused.Status == http.StatusUnauthorized, refused.Status == http.StatusForbidden:
		return exitForbidden
	case refused.Status == http.StatusNotFound && refused.Reason != "": // else it was no agent that said so
		return exitNotFound
	case refused.Status >= http.StatusInternalServerError, refused.Status == http.StatusTooManyRequests:
		return exitUnreachable
	}
	return exitFailed
}
