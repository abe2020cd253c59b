// Package metrics reads values from metrics in the Prometheus text format. The lab reads the metrics of the agent, the
// kubelet and the API server.
package metrics

import (
	"fmt"
	"strconv"
	"strings"
)

// Sum returns the sum of all samples with the given name and labels. Each label has the form name="value". If no sample
// matches, the sum is 0.
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

func hasAll(sample string, labels []string) bool {
	for _, label := range labels {
		if !strings.Contains(sample, "{"+label) && !strings.Contains(sample, ","+label) {
			return false
		}
	}
	return true
}
