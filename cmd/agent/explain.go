package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/export"
)

const (
	askTimeout = 10 * time.Second
	maxAnswer  = 16 << 20 // bytes; the answer about a full node is a tenth of it
)

// explainConfig is what to ask, of whom.
type explainConfig struct {
	server *url.URL
	width  int // terminal cells
}

// settings is the table of the explain command's flags.
func (c *explainConfig) settings() []setting {
	return []setting{
		{
			flag: "server", value: "URL", def: "http://127.0.0.1:9717",
			help: "the agent to ask", set: c.setServer,
		},
		widthSetting(&c.width),
	}
}

func widthSetting(target *int) setting {
	return setting{
		flag: "width", value: "COLUMNS", def: "110", help: "how wide a waterfall may be",
		set: func(value string) error {
			width, err := strconv.ParseUint(value, 10, 10)
			if err != nil || width == 0 {
				return fmt.Errorf("%q is no width: want a number of columns from 1 to 1023", value)
			}
			*target = int(width)
			return nil
		},
	}
}

func (c *explainConfig) setServer(value string) error {
	server, err := url.Parse(value)
	if err != nil || server.Host == "" || (server.Scheme != "http" && server.Scheme != "https") {
		return fmt.Errorf("%q is no address: want http://HOST:PORT", value)
	}
	c.server = server
	return nil
}

func runExplain(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c explainConfig
	rest, err := settle(c.settings(), args, getenv, 1)
	if errors.Is(err, errHelp) {
		printHelp(stdout, "explain [flags] [NAMESPACE/POD]\n\n"+
			"Without a pod, every pod of the node is listed, a line each.", c.settings())
		return exitOK
	}
	if err != nil {
		return failUsage(stderr, "explain", err)
	}
	var text string
	if len(rest) == 0 {
		text, err = explainAll(ctx, c)
	} else {
		var pod podName
		if err := pod.set(rest[0]); err != nil {
			return failUsage(stderr, "explain", err)
		}
		text, err = explainPod(ctx, c, pod)
	}
	if err != nil {
		return fail(stderr, "explain", err)
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		return fail(stderr, "explain", fmt.Errorf("write to standard output: %w", err))
	}
	return exitOK
}

func explainAll(ctx context.Context, c explainConfig) (string, error) {
	var list export.RecordList
	if err := ask(ctx, c.server.JoinPath("api", "v1", "pods"), &list); err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "the agent knows no pods on its node yet\n", nil
	}
	return export.Summary(list.Items), nil
}

// podName names one pod on the command line.
type podName struct{ namespace, name string }

func (p *podName) set(value string) error {
	namespace, name, ok := strings.Cut(value, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%q is no pod: want NAMESPACE/POD", value)
	}
	*p = podName{namespace, name}
	return nil
}

func explainPod(ctx context.Context, c explainConfig, pod podName) (string, error) {
	address := c.server.JoinPath("api", "v1", "pods", url.PathEscape(pod.namespace), url.PathEscape(pod.name))
	var record export.Record
	if err := ask(ctx, address, &record); err != nil {
		return "", err
	}
	return export.Waterfall(record, c.width), nil
}

// ask gets one answer of the agent's API. Its error is a sentence for people.
func ask(ctx context.Context, address *url.URL, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the agent (--server): %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the agent's answer: %w", err)
	case len(body) > maxAnswer:
		return fmt.Errorf("read the agent's answer: longer than %d bytes", maxAnswer)
	case response.StatusCode != http.StatusOK:
		return refusal(address, response.Status, body)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w; is that a podlapse agent?", address.Host, err)
	}
	return nil
}

// refusal words an answer that is an error, with the agent's own reason when it gave one.
func refusal(address *url.URL, status string, body []byte) error {
	var problem struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(body, &problem); err != nil || problem.Reason == "" {
		return fmt.Errorf("%s answers %q; is that a podlapse agent?", address.Host, status)
	}
	return fmt.Errorf("the agent says: %q", problem.Reason)
}
