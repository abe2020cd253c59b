// Package metrics reads numbers from the Prometheus text format, for metrics of the agent, the kubelet and the API
// server.
package metrics

import (
	"fmt"
	"strconv"
	"strings"
)

// Sum adds up the samples with this name and with all given labels. Each label has the form name="value". Without
// samples, the sum is 0.
func Sum(text, name string, labels ...string) (float64, error) {
	var sum float64
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' || !hasAll(rest, labels) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("parse the value of metric %s: %w", name, err)
		}
		sum += value
	}
	return sum, nil
}

// Has reports whether a sample with this name exists. An initialized metric has a sample even if nothing
// has been counted yet.
func Has(text, name string) bool {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok && rest != "" && (rest[0] == '{' || rest[0] == ' ') {
			return true
		}
	}
	return false
}

func hasAll(sample string, labels []string) bool {
	for _, label := range labels {
		if !strings.Contains(sample, "{"+label) && !strings.Contains(sample, ","+label) {
			return false
		}
	}
	return true
}
