package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/podlapse/podlapse/pkg/export"
)

const (
	askTimeout = 10 * time.Second
	maxAnswer  = 16 << 20 // bytes; the answer about a full node is a tenth of it
)

// explainConfig is what to ask, of whom.
type explainConfig struct {
	server *url.URL
	token  string // shown to an agent that wants one; empty for none
	width  int    // terminal cells
}

// settings is the table of the explain command's flags.
func (c *explainConfig) settings() []setting {
	return []setting{
		{
			flag: "server", value: "URL", def: "http://127.0.0.1:9717",
			help: "the agent to ask; http://USER:PASSWORD@HOST:PORT where it wants a password", set: c.setServer,
		},
		{
			flag: "token-file", value: "FILE",
			help: "a file with the bearer token to show to an agent that runs with --web-auth=kubernetes", set: c.setTokenFile,
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

// setTokenFile reads no more than a header can hold.
func (c *explainConfig) setTokenFile(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 16<<10))
	if err != nil {
		return err
	}
	if c.token = strings.TrimSpace(string(text)); c.token == "" || strings.ContainsFunc(c.token, unicode.IsSpace) {
		return fmt.Errorf("%s holds no token: want one line", path)
	}
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
	if err := ask(ctx, c.server.JoinPath("api", "v1", "pods"), c.token, &list); err != nil {
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
	if err := ask(ctx, address, c.token, &record); err != nil {
		return "", err
	}
	return export.Waterfall(record, c.width), nil
}

// ask gets one answer of the agent's API. Its error is a sentence for people.
func ask(ctx context.Context, address *url.URL, token string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
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
		return refusal(address, response, body)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w; is that a podlapse agent?", address.Host, err)
	}
	return nil
}

// refusal words an answer that is an error, with the agent's own reason when it gave one.
func refusal(address *url.URL, response *http.Response, body []byte) error {
	var problem struct {
		Reason string `json:"reason"`
	}
	wants := response.Header.Get("WWW-Authenticate")
	switch err := json.Unmarshal(body, &problem); {
	case err == nil && problem.Reason != "" && strings.HasPrefix(wants, "Bearer"):
		return fmt.Errorf("the agent says: %q; see --token-file", problem.Reason)
	case strings.HasPrefix(wants, "Basic"):
		return fmt.Errorf("%s wants a password: --server=%s://USER:PASSWORD@%s", address.Host, address.Scheme, address.Host)
	case err != nil || problem.Reason == "":
		return fmt.Errorf("%s answers %q; is that a podlapse agent?", address.Host, response.Status)
	}
	return fmt.Errorf("the agent says: %q", problem.Reason)
}
