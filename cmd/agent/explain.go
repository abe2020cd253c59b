package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/export"
)

// explainConfig is what to ask, of whom.
type explainConfig struct {
	server *url.URL
	token  string // shown to an agent that wants one; empty for none
	width  int    // terminal cells
}

func (c explainConfig) client() client.Client {
	return client.Client{Server: c.server.String(), Token: c.token}
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
	var records []export.Record
	for record, err := range c.client().Pods(ctx, client.Filter{}) {
		if err != nil {
			return "", c.worded(err)
		}
		records = append(records, record)
	}
	if len(records) == 0 {
		return "the agent knows no pods on its node yet\n", nil
	}
	return export.Summary(records), nil
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
	record, err := c.client().Pod(ctx, pod.namespace, pod.name)
	if err != nil {
		return "", c.worded(err)
	}
	return export.Waterfall(record, c.width), nil
}

// worded words an error for people, with the flag that helps.
func (c explainConfig) worded(err error) error {
	var refused *client.Refusal
	switch {
	case errors.As(err, &refused) && refused.Wants == client.WantsToken:
		return fmt.Errorf("%w; see --token-file", err)
	case errors.As(err, &refused) && refused.Wants == client.WantsPassword:
		return fmt.Errorf("%w: --server=%s://USER:PASSWORD@%s", err, c.server.Scheme, c.server.Host)
	case refused != nil, errors.Is(err, client.ErrNotAnAgent):
		return err
	}
	return fmt.Errorf("--server: %w", err)
}
