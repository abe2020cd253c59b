package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/fleetmetrics"
	"github.com/podlapse/podlapse/pkg/client"
)

// Exit codes of all commands. docs/cli.md lists the exit codes for users.
const (
	ExitOK          = 0
	ExitFailed      = 1   // any failure that has no other exit code
	ExitUsage       = 2   // invalid arguments or settings; the command did nothing
	ExitNotFound    = 3   // the agents or the API server do not know the resource
	ExitUnreachable = 4   // the API server, the agent or Prometheus is unreachable, or temporarily cannot respond
	ExitForbidden   = 5   // the credentials are missing, wrong or not sufficient
	ExitPartial     = 6   // some agents did not respond, or a list omits pods; the command printed all other data
	ExitInterrupted = 130 // SIGINT or SIGTERM stopped the command; 130 is the usual exit code after SIGINT
)

// exitOf returns the exit code for an error of a query.
func exitOf(err error) int {
	var refused *client.Refusal
	var network net.Error
	var request *url.Error
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, agents.ErrNotBound), errors.Is(err, errUnknownPod):
		return ExitNotFound
	case errors.Is(err, agents.ErrNoAgent), errors.Is(err, fleetmetrics.ErrUnavailable):
		return ExitUnreachable
	case errors.Is(err, fleetmetrics.ErrRefused):
		return ExitForbidden
	case errors.As(err, &refused):
		return exitOfRefusal(refused)
	case errors.Is(err, client.ErrNotAnAgent):
		return ExitFailed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network),
		errors.As(err, &request):
		return ExitUnreachable
	}
	return ExitFailed
}

func exitOfRefusal(refused *client.Refusal) int {
	switch {
	case refused.Status == http.StatusUnauthorized, refused.Status == http.StatusForbidden:
		return ExitForbidden
	case refused.Status == http.StatusNotFound && refused.Reason != "": // a 404 without a reason is not from an agent
		return ExitNotFound
	case refused.Status >= http.StatusInternalServerError, refused.Status == http.StatusTooManyRequests:
		return ExitUnreachable
	}
	return ExitFailed
}
