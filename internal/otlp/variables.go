package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// variable is an OTEL_* variable and its check.
type variable struct {
	name  string
	check func(string) error
}

// exporterVariables are the variables of an exporter, without their prefix. The prefix is OTEL_EXPORTER_OTLP_ for all
// signals. The prefix for one signal also contains the signal, for example OTEL_EXPORTER_OTLP_TRACES_.
var exporterVariables = []variable{
	{"ENDPOINT", isEndpoint},
	{"PROTOCOL", oneOf(protocolHTTP, protocolGRPC)},
	{"TIMEOUT", isMilliseconds},
	{"HEADERS", isHeaders},
	{"COMPRESSION", oneOf("gzip", "none")},
	{"INSECURE", isBool},
	{"CERTIFICATE", isCertificates},
}

// traceVariables are the variables of the SDK's tracer.
var traceVariables = []variable{
	{"OTEL_TRACES_SAMPLER", oneOf("always_on", "always_off", "traceidratio",
		"parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio")},
	{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", isInteger},
	{"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", isInteger},
	{"OTEL_SPAN_EVENT_COUNT_LIMIT", isInteger},
	{"OTEL_SPAN_LINK_COUNT_LIMIT", isInteger},
	{"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", isInteger},
	{"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", isInteger},
}

// histogramAggregation is the variable that selects the format of histograms. The possible values of the variable are
// bucketHistogram and exponentialHistogram. By default, histograms have explicit buckets.
const (
	histogramAggregation = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"
	bucketHistogram      = "explicit_bucket_histogram"
	exponentialHistogram = "base2_exponential_bucket_histogram"
)

// metricVariables are the variables of metrics. The temporality must be cumulative, because Prometheus metrics count
// from the start of the agent.
var metricVariables = []variable{
	{"OTEL_METRIC_EXPORT_INTERVAL", isMilliseconds},
	{"OTEL_METRIC_EXPORT_TIMEOUT", isMilliseconds},
	{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", oneOf("cumulative")},
	{histogramAggregation, oneOf(bucketHistogram, exponentialHistogram)},
}

// maxMilliseconds is the maximum accepted duration: one hour. A longer wait for a collector is not useful.
const maxMilliseconds = int(time.Hour / time.Millisecond)

// isEndpoint checks an endpoint. Without this check, the exporters would silently ignore an invalid endpoint. Most
// errors do not contain the endpoint, because an endpoint can contain credentials.
func isEndpoint(value string) error {
	const keys = ": use http://HOST:PORT or https://HOST:PORT, and put credentials in OTEL_EXPORTER_OTLP_HEADERS"
	switch {
	case strings.Contains(value, "@"):
		return errors.New("the endpoint must not contain a user or a password" + keys)
	case strings.Contains(value, "?"):
		return errors.New("the endpoint must not contain a query" + keys)
	case strings.Contains(value, "#"):
		return errors.New("the endpoint must not contain a fragment" + keys)
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || strings.HasSuffix(u.Host, ":") || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("invalid endpoint %q: must be http://HOST:PORT or https://HOST:PORT", value)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("invalid port in %q: must be 1 to 65535", value)
		}
	}
	return nil
}

// isTarget checks an endpoint for gRPC, which does not support a path. isTarget accepts all endpoints that isEndpoint
// rejects, because isEndpoint already reports their problems.
func isTarget(value string) error {
	if isEndpoint(value) != nil {
		return nil
	}
	if u, err := url.Parse(value); err == nil && u.Path != "" && u.Path != "/" {
		return fmt.Errorf("invalid endpoint %q: OTEL_EXPORTER_OTLP_PROTOCOL=grpc does not support a path: use "+
			"http://HOST:PORT or https://HOST:PORT", value)
	}
	return nil
}

func isMilliseconds(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 1 || n > maxMilliseconds {
		return fmt.Errorf("invalid time %q: must be 1 to %d milliseconds", value, maxMilliseconds)
	}
	return nil
}

func isInteger(value string) error {
	if _, err := strconv.Atoi(value); err != nil {
		return fmt.Errorf("invalid integer %q: must be a whole number, for example 128", value)
	}
	return nil
}

func isRatio(value string) error {
	if ratio, err := strconv.ParseFloat(value, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
		return fmt.Errorf("invalid ratio %q: must be a number from 0 to 1, for example 0.25", value)
	}
	return nil
}

func isBool(value string) error {
	if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
		return fmt.Errorf("invalid value %q: must be true or false", value)
	}
	return nil
}

func isHeaders(value string) error {
	return isList(value,
		func(name string) bool { return httpguts.ValidHeaderFieldName(name) && !isTransports(name) },
		httpguts.ValidHeaderFieldValue)
}

// isTransports reports whether the transport sets a header itself. The variable HEADERS must not contain such a header.
// The transport would silently ignore the header, or the header would contradict the request. Sources: net/http,
// reqWriteExcludeHeader; RFC 9110, 7.6.1; grpc-go, isReservedHeader.
func isTransports(header string) bool {
	switch name := strings.ToLower(header); name {
	case "host", "content-type", "content-encoding", "content-length", "transfer-encoding", "trailer", "te",
		"connection", "keep-alive",
		"proxy-connection", "upgrade":
		return true
	default:
		return strings.HasPrefix(name, "grpc-")
	}
}

// isMetadata checks headers for gRPC. gRPC forbids some characters that HTTP allows. gRPC sets the header User-Agent
// itself. Source: github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Custom-Metadata.
func isMetadata(value string) error {
	return isList(value,
		func(name string) bool {
			return !strings.EqualFold(name, "user-agent") && !strings.ContainsFunc(name, func(r rune) bool {
				return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' ||
					r == '.')
			})
		},
		func(value string) bool {
			return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
		})
}

func isAttributes(value string) error {
	return isList(value, func(name string) bool { return utf8.ValidString(name) && !strings.ContainsAny(name, " \t") },
		utf8.ValidString)
}

func isText(value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("invalid text %q: must be valid UTF-8", value)
	}
	return nil
}

// isList checks a list of NAME=VALUE. The errors of isList do not contain values, because values can be credentials.
func isList(value string, isName, isValue func(string) bool) error {
	for i, pair := range strings.Split(value, ",") {
		name, encoded, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(encoded))
		name = strings.TrimSpace(name)
		switch {
		case !ok || name == "" || err != nil:
			return fmt.Errorf("invalid entry %d: must be NAME=VALUE with a percent-encoded value", i+1)
		case !isName(name):
			return fmt.Errorf("invalid entry %d: the name is invalid or reserved", i+1)
		case !isValue(decoded):
			return fmt.Errorf("invalid entry %d: the decoded value contains invalid characters", i+1)
		}
	}
	return nil
}

func isCertificates(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return fmt.Errorf("%s does not contain a PEM certificate", path)
	}
	return nil
}

// oneOf returns a check that accepts only the given words.
func oneOf(words ...string) func(string) error {
	return func(value string) error {
		if slices.Contains(words, value) {
			return nil
		}
		return fmt.Errorf("invalid value %q: must be %s", value, strings.Join(words, " or "))
	}
}

// checkClientKey records problems with the client certificate and its key. The exporters read the certificate and the
// key as a pair. If the signal's variables are set, the exporters read the pair from these variables. If the signal's
// variables are not set, the exporters read the pair from the general variables. The exporters silently ignore a
// certificate without a key (SDK, internal/envconfig, WithClientCert).
func (e *environment) checkClientKey(signal string) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_", "OTEL_EXPORTER_OTLP_"} {
		certificateName, keyName := prefix+"CLIENT_CERTIFICATE", prefix+"CLIENT_KEY"
		certificate, key := e.value(certificateName), e.value(keyName)
		switch {
		case certificate == "" && key == "":
			continue
		case certificate == "":
			e.addProblem(fmt.Errorf("%s requires %s: set both variables", keyName, certificateName))
		case key == "":
			e.addProblem(fmt.Errorf("%s requires %s: set both variables", certificateName, keyName))
		default:
			if _, err := tls.LoadX509KeyPair(certificate, key); err != nil {
				e.addProblem(fmt.Errorf("%s and %s: %w", certificateName, keyName, err))
			}
		}
		return
	}
}

// checkInsecure records a problem if the variable INSECURE of a signal contradicts the scheme of the signal's endpoint.
// The specification defines INSECURE only for endpoints without a scheme, and the exporters cannot use such endpoints.
// If the endpoint has a scheme and INSECURE is set, the exporters ignore the scheme. With INSECURE=true and https://,
// the exporters would send data and credentials unencrypted. With INSECURE=false and http://, the exporters would use
// TLS, although the server does not support TLS.
func (e *environment) checkInsecure(signal string) {
	address, endpoint := e.lookUp(signal, "ENDPOINT")
	name, insecure := e.lookUp(signal, "INSECURE")
	u, err := url.Parse(endpoint)
	if insecure == "" || isBool(insecure) != nil || err != nil || isEndpoint(endpoint) != nil {
		return
	}
	if clear := strings.EqualFold(insecure, "true"); clear != (u.Scheme == "http") {
		e.addProblem(fmt.Errorf("%s: invalid value %q: must be %t or unset, because the scheme of %s is %s://", name,
			insecure, !clear, address, u.Scheme))
	}
}
