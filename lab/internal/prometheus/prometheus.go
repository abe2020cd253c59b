// Package prometheus queries a Prometheus server through its HTTP API.
package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client queries one Prometheus server.
type Client struct {
	Server string // for example http://127.0.0.1:9090
}

// Sample is the value of one series.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query evaluates a PromQL expression at the current time. The value of the expression must be an instant vector. The
// vector can be empty.
func (c Client) Query(ctx context.Context, expression string) ([]Sample, error) {
	var vector struct {
		Type   string `json:"resultType"`
		Result []struct {
			Metric map[string]string `json:"metric"`
			Value  [2]any            `json:"value"` // two elements: the time, and the number as text
		} `json:"result"`
	}
	if err := c.get(ctx, "/api/v1/query", url.Values{"query": {expression}}, &vector); err != nil {
		return nil, err
	}
	if vector.Type != "vector" {
		return nil, fmt.Errorf("query Prometheus for %s: the result must be a vector, but has the type %s", expression,
			vector.Type)
	}
	var samples []Sample
	for _, r := range vector.Result {
		text, _ := r.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("query Prometheus for %s: %w", expression, err)
		}
		samples = append(samples, Sample{Labels: r.Metric, Value: value})
	}
	return samples, nil
}

// Exemplar is an exemplar of a histogram.
type Exemplar struct {
	Labels map[string]string `json:"labels"`
	Value  json.Number       `json:"value"`
}

// Exemplars returns the exemplars of the series that match a selector. The argument "last" is the maximum age of an
// exemplar.
func (c Client) Exemplars(ctx context.Context, selector string, last time.Duration) ([]Exemplar, error) {
	var series []struct {
		Exemplars []Exemplar `json:"exemplars"`
	}
	now := time.Now()
	arguments := url.Values{"query": {selector}, "start": {now.Add(-last).UTC().Format(time.RFC3339)},
		"end": {now.Add(time.Minute).UTC().Format(time.RFC3339)}}
	if err := c.get(ctx, "/api/v1/query_exemplars", arguments, &series); err != nil {
		return nil, err
	}
	var exemplars []Exemplar
	for _, s := range series {
		exemplars = append(exemplars, s.Exemplars...)
	}
	return exemplars, nil
}

// Rule is the state of one recording rule or alerting rule.
type Rule struct {
	Type           string    `json:"type"` // "recording" or "alerting"
	Name           string    `json:"name"`
	Health         string    `json:"health"` // "ok" or "err", or "unknown" before the first evaluation
	LastError      string    `json:"lastError"`
	LastEvaluation time.Time `json:"lastEvaluation"`
}

// Rules returns the state of all rules.
func (c Client) Rules(ctx context.Context) ([]Rule, error) {
	var decoded struct {
		Groups []struct {
			Rules []Rule `json:"rules"`
		} `json:"groups"`
	}
	if err := c.get(ctx, "/api/v1/rules", url.Values{}, &decoded); err != nil {
		return nil, err
	}
	var rules []Rule
	for _, group := range decoded.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules, nil
}

func (c Client) get(ctx context.Context, path string, arguments url.Values, data any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server+path+"?"+arguments.Encode(), nil)
	if err != nil {
		return fmt.Errorf("query Prometheus: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("query Prometheus: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("query Prometheus: %w", err)
	}
	var decoded struct {
		Status string          `json:"status"`
		Error  string          `json:"error"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &decoded); err != nil {
		return fmt.Errorf("query Prometheus: %s: %w", response.Status, err)
	}
	if decoded.Status != "success" {
		return fmt.Errorf("query Prometheus for %s: %s", arguments.Get("query"), decoded.Error)
	}
	if err := json.Unmarshal(decoded.Data, data); err != nil {
		return fmt.Errorf("query Prometheus: %w", err)
	}
	return nil
}
