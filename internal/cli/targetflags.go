package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/podlapse/podlapse/internal/flags"
)

// table returns the flags that select the agents.
func (t *target) table() flags.Table { return slices.Concat(t.serverTable(), t.clusterTable()) }

// serverTable returns the flags for a query of one agent at a URL.
func (t *target) serverTable() flags.Table {
	return flags.Table{
		{
			Name: "server", Value: "URL",
			Help: "URL of one agent. The command queries this agent instead of the agents of a " +
				"cluster. Example: " + localServer +
				". For an agent that requires a password: http://USER:PASSWORD@HOST:PORT", Set: setURL(&t.server),
		},
		{
			Name: "token-file", Value: "FILE",
			Help: "file with the bearer token for an agent that runs with --web-auth=kubernetes; requires --server",
			Set:  setTokenFile(&t.token),
		},
		{
			Name: "ca-file", Value: "FILE", Set: t.setAuthorities,
			Help: "file with CA certificates to verify the agent's certificate; requires --server. The default " +
				"is the system's CA certificates",
		},
		{
			Name: "cert-file", Value: "FILE", Set: flags.Text(&t.certFile),
			Help: "file with the client certificate for an agent that requires client certificates; requires " +
				"--server and --key-file",
		},
		{Name: "key-file", Value: "FILE", Help: "file with the private key of the certificate in " +
			"--cert-file", Set: flags.Text(&t.keyFile)},
		flags.Switch("insecure-skip-tls-verify", "", &t.anyCertificate,
			"accept any certificate from the agent; requires --server. This flag is insecure: anyone between this "+
				"machine and the agent can read and change the data"),
	}
}

// clusterTable returns the flags for a query of the agents of a cluster.
func (t *target) clusterTable() flags.Table {
	return flags.Table{
		{
			Name: "kubeconfig", Value: "FILE", Set: flags.Text(&t.kubeconfig),
			Help: "kubeconfig file for the API server. The default is $KUBECONFIG or ~/.kube/config",
		},
		{
			Name: "context", Value: "NAME", Set: flags.Text(&t.context), Suggest: t.suggestContexts,
			Help: "context of the kubeconfig. The default is the current context",
		},
		{
			Name: "as", Value: "USER", Set: flags.Text(&t.as),
			Help: "user to impersonate on the API server",
		},
		{
			Name: "as-group", Value: "GROUP", Many: true, Set: t.setGroups,
			Help: "group to impersonate on the API server; requires --as. You can repeat this flag",
		},
		{
			Name: "node", Value: "NAME", Help: "query only the agent on this node",
			Set: flags.Text(&t.node), Suggest: t.suggestNodes,
		},
		{
			Name: "agent-namespace", Variable: "PODLAPSE_AGENT_NAMESPACE", Value: "NAME", Default: "podlapse",
			Help: "namespace in which the agents run", Set: flags.Text(&t.agentNamespace), Suggest: t.suggestNamespaces,
		},
		flags.Switch("verbose", "", &t.verbose,
			"if the command uses port-forwards instead of the API server's proxy, print the reason on standard "+
				"error").As("v"),
		{
			Name: "timeout", Value: "DURATION", Default: "30s",
			Help: "time to wait for all responses, at most 10m",
			Set:  flags.Duration(&t.limit, maxLimit, "at most 10m, for example 30s"),
		},
	}
}

// podTable returns the flags that select pods.
func (t *target) podTable() flags.Table {
	return flags.Table{
		{
			Name: "namespace", Alias: "n", Value: "NAME", Set: flags.Text(&t.namespace), Suggest: t.suggestNamespaces,
			Help: "namespace of the pods. For a list, the default is all namespaces. For a resource that you name, " +
				"the default is the namespace of the kubeconfig's context",
		},
		flags.Switch("all-namespaces", "", &t.allNamespaces, "list the pods of all namespaces, even if --namespace "+
			"is set").As("A"),
		{
			Name: "selector", Alias: "l", Value: "SELECTOR", Set: t.setSelector,
			Help: "label selector of the pods, for example app=web,tier!=test",
		},
	}
}

// noNamespaces returns the flags -A and -n of a command that lists resources without a namespace, such as nodes. The
// flag -A has no effect. The command accepts -A because kubectl also accepts -A for resources without a namespace. If
// the user sets -n, the command fails, because it cannot limit its rows to a namespace. The argument "rows" is the
// plural name of the listed resource, for example "nodes".
func (t *target) noNamespaces(rows string) flags.Table {
	return flags.Table{
		flags.Switch("all-namespaces", "", &t.allNamespaces,
			"this flag has no effect, because the rows always include the pods of all namespaces").As("A"),
		{Name: "namespace", Alias: "n", Hidden: true, Set: func(value string) error {
			if value != "" {
				return fmt.Errorf("%s do not belong to a namespace: remove --namespace (-n)", rows)
			}
			return nil
		}},
	}
}

// setSelector validates and stores a label selector, so that the user sees an error before the command queries an
// agent.
func (t *target) setSelector(value string) error {
	if _, err := labels.Parse(value); err != nil {
		return fmt.Errorf("invalid label selector %q: %w: use a selector such as app=web, tier!=test or "+
			"tier in (front,back)", value, err)
	}
	t.selector = value
	return nil
}

func (t *target) setGroups(value string) error {
	if value != "" {
		t.asGroups = strings.Split(value, "\n")
	}
	return nil
}

// setURL returns a function for Flag.Set. The returned function checks a URL and stores the URL in the argument
// "server".
func setURL(server **url.URL) func(string) error {
	return func(value string) error {
		if value == "" {
			return nil
		}
		parsed, err := url.Parse(value)
		if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
			// the error does not contain the value, because the value can contain a password
			return errors.New("invalid URL: must be http://HOST:PORT or https://HOST:PORT")
		}
		if parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" {
			return errors.New("invalid URL: contains \"?\" or \"#\": use a URL such as http://HOST:PORT")
		}
		*server = parsed
		return nil
	}
}

// setTokenFile returns a function for Flag.Set that reads a token from a file. The token must fit into an HTTP header,
// so the function reads at most 16 KiB of the file.
func setTokenFile(token *string) func(string) error {
	return func(path string) error {
		if path == "" {
			return nil
		}
		text, err := readAtMost(path, 16<<10)
		if err != nil {
			return err
		}
		if *token = strings.TrimSpace(string(text)); *token == "" || strings.ContainsFunc(*token, unicode.IsSpace) {
			return fmt.Errorf("%s does not contain a token: the token must be one line without spaces", path)
		}
		return nil
	}
}

func (t *target) setAuthorities(path string) error {
	if path == "" {
		return nil
	}
	text, err := readAtMost(path, 4<<20)
	if err != nil {
		return err
	}
	if t.authorities = x509.NewCertPool(); !t.authorities.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s does not contain a PEM certificate", path)
	}
	return nil
}

func readAtMost(path string, bytes int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, bytes))
}
