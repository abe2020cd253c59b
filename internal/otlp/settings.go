package otlp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values of OTEL_EXPORTER_OTLP_PROTOCOL that the exporters of both signals support.
const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"
)

// Defaults of the OpenTelemetry specification.
const (
	defaultTimeout  = 10 * time.Second
	defaultInterval = time.Minute
)

// Settings holds the values of the OTEL_* variables. The zero value of Settings disables traces and metrics.
//
// The SDK and its exporters read their variables themselves and silently ignore invalid values. So FromEnvironment
// checks the important variables before the SDK reads them. Settings contains only the values that the agent needs, and
// no credentials.
type Settings struct {
	Traces   Signal
	Metrics  Signal
	Interval time.Duration // time between two exports of the metrics
	// Exponential requests exponential histograms.
	Exponential bool
}

// Signal configures the export of traces or of metrics.
type Signal struct {
	On       bool
	Endpoint string // endpoint from the environment variables; used only in messages to users
	Protocol string // protocol of the endpoint: http/protobuf or grpc
	// Timeout is the time limit for one batch, including all retries.
	Timeout time.Duration
}

// FromEnvironment reads the OTEL_* variables. The error lists the problems of all enabled signals, and names the
// variable of each problem. The error does not contain values of headers, because headers can contain credentials.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	e := &environment{getenv: getenv}
	if e.check("OTEL_SDK_DISABLED", isBool); strings.EqualFold(e.value("OTEL_SDK_DISABLED"), "true") {
		return Settings{}, errors.Join(e.problems...)
	}
	settings := Settings{
		Traces:   e.signal("TRACES", "otlp", "none"),
		Metrics:  e.signal("METRICS", "otlp", "none", "prometheus"), // "prometheus" is valid, because /metrics exists
		Interval: defaultInterval,
	}
	if settings.Traces.On || settings.Metrics.On {
		e.check("OTEL_RESOURCE_ATTRIBUTES", isAttributes)
		e.check("OTEL_SERVICE_NAME", isText)
	}
	if settings.Traces.On {
		for _, v := range traceVariables {
			e.check(v.name, v.check)
		}
		if strings.HasSuffix(e.value("OTEL_TRACES_SAMPLER"), "traceidratio") {
			e.check("OTEL_TRACES_SAMPLER_ARG", isRatio)
		}
	}
	if settings.Metrics.On {
		for _, v := range metricVariables {
			e.check(v.name, v.check)
		}
		settings.Exponential = e.value(histogramAggregation) == exponentialHistogram
		settings.Interval = e.durationOr(defaultInterval, "OTEL_METRIC_EXPORT_INTERVAL")
		settings.Metrics.Timeout = min(settings.Metrics.Timeout,
			e.durationOr(settings.Metrics.Timeout, "OTEL_METRIC_EXPORT_TIMEOUT"))
	}
	if len(e.problems) > 0 {
		return Settings{}, errors.Join(e.problems...)
	}
	return settings, nil
}

// environment reads the variables and collects their problems.
type environment struct {
	getenv   func(string) string
	problems []error
}

func (e *environment) value(name string) string { return strings.TrimSpace(e.getenv(name)) }

// lookUp returns the variable that applies to a signal. The variable for the signal has priority over the general
// variable. The name is empty if neither variable is set.
func (e *environment) lookUp(signal, what string) (name, value string) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_" + what, "OTEL_EXPORTER_OTLP_" + what} {
		if value := e.value(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// check records the problem of a variable if the variable is set and invalid.
func (e *environment) check(name string, check func(string) error) {
	if value := e.value(name); value != "" {
		if err := check(value); err != nil {
			e.addProblem(fmt.Errorf("%s: %w", name, err))
		}
	}
}

// addProblem adds a problem unless the list already has it. Duplicates occur because traces and metrics both check the
// general variables.
func (e *environment) addProblem(problem error) {
	if !slices.ContainsFunc(e.problems, func(noted error) bool { return noted.Error() == problem.Error() }) {
		e.problems = append(e.problems, problem)
	}
}

// durationOr reads a checked variable that contains a number of milliseconds, and returns the duration. If the variable
// is not set, durationOr returns the argument "otherwise".
func (e *environment) durationOr(otherwise time.Duration, name string) time.Duration {
	if n, err := strconv.Atoi(e.value(name)); err == nil {
		return time.Duration(n) * time.Millisecond
	}
	return otherwise
}

// signal reads the settings of a signal. The signal is off if no endpoint is set, or if the signal's exporter is
// not otlp.
func (e *environment) signal(name string, exporters ...string) Signal {
	exporter := "OTEL_" + name + "_EXPORTER"
	_, endpoint := e.lookUp(name, "ENDPOINT")
	if endpoint == "" {
		return Signal{}
	}
	e.check(exporter, oneOf(exporters...))
	if e.value(exporter) != "" && e.value(exporter) != "otlp" {
		return Signal{}
	}
	for _, v := range exporterVariables {
		if variable, _ := e.lookUp(name, v.name); variable != "" {
			e.check(variable, v.check)
		}
	}
	e.checkClientKey(name)
	e.checkInsecure(name)
	_, protocol := e.lookUp(name, "PROTOCOL")
	if protocol == protocolGRPC {
		address, _ := e.lookUp(name, "ENDPOINT")
		e.check(address, isTarget)
		if headers, _ := e.lookUp(name, "HEADERS"); headers != "" {
			e.check(headers, isMetadata)
		}
	}
	timeout, _ := e.lookUp(name, "TIMEOUT")
	return Signal{
		On: true, Endpoint: endpoint, Protocol: cmp.Or(protocol, protocolHTTP),
		Timeout: e.durationOr(defaultTimeout, timeout),
	}
}
