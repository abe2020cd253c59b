package otlp

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func from(variables map[string]string) (Settings, error) {
	return FromEnvironment(func(name string) string { return variables[name] })
}

const (
	endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	there    = "http://collector:4318"
)

func TestSettings(t *testing.T) {
	on := Signal{On: true, Endpoint: there, Protocol: protocolHTTP, Timeout: 10 * time.Second}
	for name, test := range map[string]struct {
		variables map[string]string
		want      Settings
	}{
		"nothing set": {nil, Settings{Interval: time.Minute}},
		"no endpoint": {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "smoke"},
			Settings{Interval: time.Minute}},
		"both": {map[string]string{endpoint: " " + there + " "}, Settings{on, on, time.Minute, false}},
		"exponential": {map[string]string{endpoint: there, histogramAggregation: exponentialHistogram},
			Settings{on, on, time.Minute, true}},
		"lists": {map[string]string{
			endpoint: there, "OTEL_EXPORTER_OTLP_HEADERS": "api-key = a%20b , x=",
			"OTEL_RESOURCE_ATTRIBUTES": "place=caf%C3%A9", "OTEL_SERVICE_NAME": "é",
		}, Settings{on, on, time.Minute, false}},
		"disabled": {map[string]string{endpoint: "bad", "OTEL_SDK_DISABLED": "TRUE"}, Settings{}},
		"no traces": {map[string]string{endpoint: there, "OTEL_TRACES_EXPORTER": "none"},
			Settings{Metrics: on, Interval: time.Minute}},
		"no metrics": {map[string]string{endpoint: there, "OTEL_METRICS_EXPORTER": "none"},
			Settings{Traces: on, Interval: time.Minute}},
		"prometheus": {map[string]string{endpoint: there, "OTEL_METRICS_EXPORTER": "prometheus"},
			Settings{Traces: on, Interval: time.Minute}},
		"one signal": {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": there},
			Settings{Traces: on, Interval: time.Minute}},
		"one endpoint for each signal": {map[string]string{
			endpoint: there, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "https://m",
			"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc",
			"OTEL_EXPORTER_OTLP_TIMEOUT":          "2000", "OTEL_METRIC_EXPORT_TIMEOUT": "1000",
			"OTEL_METRIC_EXPORT_INTERVAL": "5000",
		}, Settings{
			Signal{true, there, protocolHTTP, 2 * time.Second}, Signal{true, "https://m", protocolGRPC, time.Second},
			5 * time.Second, false,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := from(test.variables); err != nil || got != test.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, test.want)
			}
		})
	}
}

// emptyFile is the name of a file without content in the test's directory.
const emptyFile = "empty"

// invalidSettings are the cases of TestInvalidSettings.
var invalidSettings = []struct{ name, value, want string }{
	{"OTEL_SDK_DISABLED", "yes", `invalid value "yes": must be true or false`},
	{endpoint, "collector:4317", "must be http://HOST:PORT"},
	{endpoint, "https://user:hush@host",
		"user or a password: use http://HOST:PORT or https://HOST:PORT, and put credentials in " +
			"OTEL_EXPORTER_OTLP_HEADERS"},
	{endpoint, "user:hush@host:4317", "user or a password"},
	{endpoint, "https://user:hush@host:no port", "user or a password"},
	{endpoint, "https://host?key=hush",
		"query: use http://HOST:PORT or https://HOST:PORT, and put credentials in OTEL_EXPORTER_OTLP_HEADERS"},
	{endpoint, "https://host/?", "must not contain a query"},
	{endpoint, "https://host/#hush", "fragment: use http://HOST:PORT"},
	{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://host/v1/traces?key=hush", "must not contain a query"},
	{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "must be http/protobuf or grpc"},
	{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "thrift", "must be http/protobuf or grpc"},
	{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "milliseconds"},
	{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "0", "milliseconds"},
	{"OTEL_EXPORTER_OTLP_HEADERS", "api-key", "invalid entry 1: must be NAME=VALUE"},
	{"OTEL_EXPORTER_OTLP_HEADERS", "a=b,key=%hush", "invalid entry 2: must be NAME=VALUE"},
	{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "must be gzip or none"},
	{"OTEL_EXPORTER_OTLP_INSECURE", "1", "must be true or false"},
	{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere", "no such file"},
	{"OTEL_EXPORTER_OTLP_CERTIFICATE", emptyFile, "does not contain a PEM certificate"},
	{"OTEL_EXPORTER_OTLP_CLIENT_KEY", emptyFile, "requires OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
	{"OTEL_TRACES_EXPORTER", "zipkin", "must be otlp or none"},
	{"OTEL_TRACES_SAMPLER", "sometimes", "must be always_on or"},
	{"OTEL_SPAN_EVENT_COUNT_LIMIT", "many", "invalid integer"},
	{"OTEL_RESOURCE_ATTRIBUTES", "here", "entry 1"},
	{"OTEL_RESOURCE_ATTRIBUTES", "a=%ff", "invalid entry 1: the decoded value contains invalid characters"},
	{"OTEL_RESOURCE_ATTRIBUTES", "a=b,\xff=c", "invalid entry 2: the name is invalid or reserved"},
	{"OTEL_SERVICE_NAME", "\xff", "must be valid UTF-8"},
	{"OTEL_EXPORTER_OTLP_HEADERS", "a=b%0ahush", "invalid entry 1: the decoded value contains invalid characters"},
	{"OTEL_EXPORTER_OTLP_HEADERS", "hush@b=c", "invalid entry 1: the name is invalid or reserved"},
	{"OTEL_EXPORTER_OTLP_HEADERS", "a=b,Host=hush", "invalid entry 2: the name is invalid or reserved"},
	{"OTEL_EXPORTER_OTLP_HEADERS", "content-length=3", "invalid entry 1: the name is invalid or reserved"},
	{"OTEL_EXPORTER_OTLP_HEADERS", "grpc-timeout=1S", "invalid entry 1: the name is invalid or reserved"},
	{endpoint, "http://host:99999", "must be 1 to 65535"},
	{endpoint, "http://host:0", "must be 1 to 65535"},
	{endpoint, "http://:4318", "must be http://HOST:PORT"},
	{endpoint, "http://host:", "must be http://HOST:PORT"},
	{histogramAggregation, "summary", "must be explicit_bucket_histogram or base2_exponential_bucket_histogram"},
	{"OTEL_METRIC_EXPORT_INTERVAL", "-1", "milliseconds"},
	{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta", "must be cumulative"},
}

// Each error names the variable.
func TestInvalidSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(emptyFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range invalidSettings {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			got, err := from(map[string]string{endpoint: there, test.name: test.value})
			if err == nil || !strings.Contains(err.Error(), test.name) || !strings.Contains(err.Error(), test.want) ||
				strings.Contains(err.Error(), "hush") || strings.Count(err.Error(), test.want) != 1 ||
				got != (Settings{}) {
				t.Errorf("got %+v, %v; want an error with %q", got, err, test.want)
			}
		})
	}
	for _, headers := range []string{"a!b=c", "a=caf%C3%A9", "User-Agent=x"} { // these headers are valid in HTTP
		variables := map[string]string{endpoint: there, "OTEL_EXPORTER_OTLP_HEADERS": headers}
		if _, err := from(variables); err != nil {
			t.Error(err)
		}
		variables["OTEL_EXPORTER_OTLP_PROTOCOL"] = protocolGRPC
		if _, err := from(variables); err == nil ||
			strings.Count(err.Error(), "OTEL_EXPORTER_OTLP_HEADERS: invalid entry 1:") != 1 {
			t.Errorf("%s over gRPC: %v", headers, err)
		}
	}
	for address, wrong := range map[string]string{"https://host/": "", "https://host/otlp": "does not support a path",
		"https://user:hush@host/otlp": "must not contain a user"} {
		_, err := from(map[string]string{endpoint: address, "OTEL_EXPORTER_OTLP_PROTOCOL": protocolGRPC})
		text := fmt.Sprint(err)
		if (err == nil) != (wrong == "") || strings.Contains(text, "hush") || wrong != "" &&
			strings.Count(text, wrong) != 1 {
			t.Errorf("%s over gRPC: %v", address, err)
		}
	}
	const ratio = "parentbased_traceidratio"
	variables := map[string]string{endpoint: there, "OTEL_TRACES_SAMPLER": ratio, "OTEL_TRACES_SAMPLER_ARG": "2"}
	if _, err := from(variables); err == nil {
		t.Error("a ratio of 2 is accepted")
	}
}
