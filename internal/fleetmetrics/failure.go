package fleetmetrics

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
)

// ErrRefused means that Prometheus requires other credentials. Errors of this package can wrap ErrRefused, so callers
// must compare with errors.Is.
var ErrRefused = errors.New("access denied")

// ErrUnavailable means that Prometheus cannot respond at this time, for example because it starts or stops. Compare
// with errors.Is.
var ErrUnavailable = errors.New("the server cannot respond at this time")

var (
	errNotPrometheus = errors.New("the response does not come from Prometheus")
	errTooMany       = fmt.Errorf("the response has more than %d series", maxSeries)
)

// withRemedy adds the server's address and a remedy to the error of a query.
func (s *Server) withRemedy(err error) error {
	var failed *v1.Error
	var certificate *tls.CertificateVerificationError
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("query Prometheus: %w\n%s", err, moreTime)
	case errors.Is(err, ErrRefused):
		return fmt.Errorf("query Prometheus at %s: %w\nSet --prometheus-token-file to a file with a valid token. If "+
			"Prometheus requires a password, write USER:PASSWORD@ before the host in --prometheus", s.address,
			ErrRefused)
	case errors.Is(err, ErrUnavailable):
		return fmt.Errorf("query Prometheus at %s: %w\nThe server is starting, stopping or overloaded. Repeat the "+
			"command when %s/-/ready responds with status 200. If the queries take too long, set a shorter --since",
			s.address, err, s.address)
	case errors.Is(err, errNotPrometheus):
		return s.notPrometheus(err)
	case errors.Is(err, errTooMany), errors.As(err, &large):
		return fmt.Errorf("query Prometheus at %s: the response is too large: %w\nQuery a Prometheus server that "+
			"has the metrics of fewer clusters", s.address, err)
	case errors.As(err, &failed):
		return s.withPrometheusRemedy(&v1.Error{Type: failed.Type, Msg: shorten(failed.Msg)})
	case errors.As(err, &certificate):
		return fmt.Errorf("query Prometheus: %w\nIf a private certificate authority signed the server's certificate, "+
			"add the authority's certificate to the trust store of this machine. On Linux, you can instead set the "+
			"environment variable SSL_CERT_FILE to a file with the certificate", err)
	}
	return fmt.Errorf("query Prometheus: %w\nCheck that Prometheus listens at %s. For a Prometheus in the cluster, "+
		"run kubectl -n NAMESPACE port-forward svc/SERVICE 9090, and use --prometheus=http://127.0.0.1:9090", err,
		s.address)
}

// maxText is the maximum length of an error or a warning from Prometheus, in bytes.
const maxText = 500

// shorten shortens a text from Prometheus to about maxText bytes.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	return untrusted.Text(text, maxText) + "…"
}

const moreTime = "Set a longer --timeout or a shorter --since"

func (s *Server) notPrometheus(err error) error {
	return fmt.Errorf("query Prometheus at %s: %w\nSet --prometheus to the URL of a Prometheus server. The server "+
		"must respond at %s/api/v1/query", s.address, err, s.address)
}

// withPrometheusRemedy adds a remedy to an error that Prometheus itself reported.
func (s *Server) withPrometheusRemedy(err *v1.Error) error {
	remedy := "Check that Prometheus is healthy. If its queries take too long, set a shorter --since"
	switch err.Type {
	case v1.ErrBadResponse:
		return s.notPrometheus(fmt.Errorf("%w: %w", errNotPrometheus, err))
	case v1.ErrBadData:
		remedy = "The report requires Prometheus 2.42 or later"
	case v1.ErrExec, v1.ErrTimeout, v1.ErrCanceled:
		remedy = moreTime
		if strings.Contains(err.Msg, "duplicate") || strings.Contains(err.Msg, "multiple matches") {
			remedy = "Each node must have only one series of a rule. Query a single replica of Prometheus, and give " +
				"the series of each cluster a different value of the label \"cluster\""
		}
	}
	return fmt.Errorf("query Prometheus at %s: %w\n%s", s.address, err, remedy)
}

// noAgents returns an error about a Prometheus server that contains no metrics of podlapse agents for the period of the
// report.
func (s *Server) noAgents() error {
	return fmt.Errorf("the Prometheus server at %s has no metrics of agents for the period of the report\nCheck that "+
		"the server scrapes the agents: the query count(podlapse_build_info) must return the number of agents",
		s.address)
}

// noRules returns an error about a Prometheus server that contains metrics of podlapse agents, but no results of the
// recording rules.
func (s *Server) noRules() error {
	return fmt.Errorf("the Prometheus server at %s has no results of podlapse's recording rules for the period of "+
		"the report\nCheck that the server loads manifests/monitoring/rules.yaml: the query "+
		"count(podlapse:phase_cause:info) must return a number", s.address)
}
