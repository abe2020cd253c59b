package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/client"
)

const (
	localServer = "http://127.0.0.1:9717"
	// agentLimit is how long one of several agents may take to answer.
	agentLimit = 8 * time.Second
	maxLimit   = 10 * time.Minute
)

// target is which agents to query: the agent at an address, or those of a cluster.
type target struct {
	server            *url.URL // nil to look for agents in a cluster, or on this machine
	token             string   // bearer token for the agent; empty for none
	authorities       *x509.CertPool
	certFile, keyFile string
	anyCertificate    bool

	kubeconfig, context string
	namespace           string // of pods; empty for the context's, or all
	node                string
	agentNamespace      string
	limit               time.Duration // for all queries together
}

// table is the part of the commands' tables that selects the agents.
func (t *target) table() flags.Table {
	return flags.Table{
		{
			Name: "server", Value: "URL",
			Help: "URL of one agent to query instead of finding agents in the cluster, for example " + localServer +
				"; http://USER:PASSWORD@HOST:PORT if it requires a password", Set: t.setServer,
		},
		{
			Name: "token-file", Value: "FILE",
			Help: "with --server, file with the bearer token for an agent that runs with --web-auth=kubernetes",
			Set:  t.setTokenFile,
		},
		{
			Name: "ca-file", Value: "FILE", Set: t.setAuthorities,
			Help: "with --server, CA certificates to verify the agent's certificate; if unset, the system's",
		},
		{
			Name: "cert-file", Value: "FILE", Set: flags.Text(&t.certFile),
			Help: "with --server, client certificate for an agent that requires one; requires --key-file",
		},
		{Name: "key-file", Value: "FILE", Help: "private key of --cert-file", Set: flags.Text(&t.keyFile)},
		flags.Switch("insecure-skip-tls-verify", "", &t.anyCertificate,
			"with --server, do not verify the agent's certificate; insecure: anyone on the path can read and "+
				"change the data"),
		{
			Name: "kubeconfig", Value: "FILE", Set: flags.Text(&t.kubeconfig),
			Help: "kubeconfig for the API server; if unset, $KUBECONFIG or ~/.kube/config",
		},
		{
			Name: "context", Value: "NAME", Set: flags.Text(&t.context), Suggest: t.suggestContexts,
			Help: "context of the kubeconfig; if unset, the current context",
		},
		{
			Name: "namespace", Alias: "n", Value: "NAME", Help: "namespace of the pods",
			Set: flags.Text(&t.namespace), Suggest: t.suggestNamespaces,
		},
		{
			Name: "node", Value: "NAME", Help: "query only the agent on this node",
			Set: flags.Text(&t.node), Suggest: t.suggestNodes,
		},
		{
			Name: "agent-namespace", Value: "NAME", Default: "podlapse", Help: "namespace of the agents",
			Set: flags.Text(&t.agentNamespace), Suggest: t.suggestNamespaces,
		},
		{
			Name: "timeout", Value: "DURATION", Default: "30s", Help: "total time to wait for answers, at most 10m",
			Set: func(value string) error {
				limit, err := time.ParseDuration(value)
				if err != nil || limit <= 0 || limit > maxLimit {
					return fmt.Errorf("invalid duration %q: must be at most 10m, for example 30s", value)
				}
				t.limit = limit
				return nil
			},
		},
	}
}

func (t *target) setServer(value string) error {
	if value == "" {
		return nil
	}
	server, err := url.Parse(value)
	if err != nil || server.Host == "" || (server.Scheme != "http" && server.Scheme != "https") {
		// not repeated: it may contain a password
		return errors.New("invalid URL: must be http://HOST:PORT or https://HOST:PORT")
	}
	t.server = server
	return nil
}

// setTokenFile reads at most what fits into a header.
func (t *target) setTokenFile(path string) error {
	if path == "" {
		return nil
	}
	text, err := readAtMost(path, 16<<10)
	if err != nil {
		return err
	}
	if t.token = strings.TrimSpace(string(text)); t.token == "" || strings.ContainsFunc(t.token, unicode.IsSpace) {
		return fmt.Errorf("%s does not contain a token: must be one line without spaces", path)
	}
	return nil
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

// check finds flags that cannot be combined.
func (t *target) check() error {
	if t.server == nil {
		return nil
	}
	for _, f := range []struct{ flag, value string }{
		{"kubeconfig", t.kubeconfig}, {"context", t.context}, {"node", t.node},
	} {
		if f.value != "" {
			return fmt.Errorf("--%s cannot be combined with --server, which names one agent", f.flag)
		}
	}
	return nil
}

// reached is the agents that can be queried. The caller must close it.
type reached struct {
	target  target
	direct  *client.Client // nil if the agents are in the cluster
	cluster *agents.Cluster
	// namespace applies to pods that are named without a namespace; empty if unknown.
	namespace string
	close     func()
}

// open prepares to query, without connecting. Without any flag, the plugin of kubectl queries the cluster of the
// kubeconfig. The agent's program does the same if there is a kubeconfig, otherwise it queries the agent of this
// machine.
func (t target) open(program string, getenv func(string) string) (reached, error) {
	files := t.kubeconfigs(getenv)
	named := t.kubeconfig+t.context+t.node != ""
	if t.server == nil && program == AgentProgram && !named && len(files) == 0 {
		t.server, _ = url.Parse(localServer)
	}
	if t.server != nil {
		return t.openServer()
	}
	config := t.clientConfig(getenv)
	namespace, _, err := config.Namespace()
	if err == nil {
		var api *rest.Config
		if api, err = config.ClientConfig(); err == nil {
			return t.openCluster(api, namespace)
		}
	}
	if clientcmd.IsEmptyConfig(err) {
		return reached{}, errors.New("no kubeconfig found: set --kubeconfig or KUBECONFIG, or name an agent " +
			"with --server")
	}
	return reached{}, fmt.Errorf("read kubeconfig: %w", err)
}

// kubeconfigs lists the existing files among those that are read if no flag names one.
func (t target) kubeconfigs(getenv func(string) string) []string {
	files := filepath.SplitList(getenv("KUBECONFIG"))
	if home := getenv("HOME"); len(files) == 0 && home != "" {
		files = []string{filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)}
	}
	return slices.DeleteFunc(files, func(file string) bool {
		_, err := os.Stat(file)
		return err != nil
	})
}

func (t target) clientConfig(getenv func(string) string) clientcmd.ClientConfig {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: t.kubeconfig, Precedence: t.kubeconfigs(getenv)}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: t.context}
	overrides.Context.Namespace = t.namespace
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// ofServer lists those of the given flags that require --server.
func (t target) ofServer() (given []string) {
	for flag, is := range map[string]bool{
		"--token-file":               t.token != "",
		"--ca-file":                  t.authorities != nil,
		"--cert-file":                t.certFile != "",
		"--key-file":                 t.keyFile != "",
		"--insecure-skip-tls-verify": t.anyCertificate,
	} {
		if is {
			given = append(given, flag)
		}
	}
	slices.Sort(given)
	return given
}

func (t target) openCluster(api *rest.Config, namespace string) (reached, error) {
	// The API server forwards requests to the agents, and the kubeconfig says how to reach the API server.
	if given := t.ofServer(); len(given) > 0 {
		return reached{}, fmt.Errorf("%s: requires --server, which names one agent", strings.Join(given, ", "))
	}
	api.UserAgent = AgentProgram + "-cli"
	api.WarningHandler = rest.NoWarnings{} // it would write to stderr
	cluster, err := agents.Open(api, t.agentNamespace)
	if err != nil {
		return reached{}, err
	}
	return reached{target: t, cluster: cluster, namespace: namespace, close: cluster.Close}, nil
}

func (t target) openServer() (reached, error) {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: agentLimit,
		TLSClientConfig: &tls.Config{RootCAs: t.authorities, InsecureSkipVerify: t.anyCertificate},
	}
	if t.certFile+t.keyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.certFile, t.keyFile)
		if err != nil {
			return reached{}, fmt.Errorf("--cert-file, --key-file: %w", err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return reached{
		target: t, namespace: t.namespace, close: transport.CloseIdleConnections,
		direct: &client.Client{Server: t.server.String(), Token: t.token, HTTP: &http.Client{Transport: transport,
			// an agent never redirects
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}},
	}, nil
}

// agents lists the agents to query: that of one node, or all.
func (r reached) agents(ctx context.Context, node string) ([]agents.Agent, error) {
	if r.direct != nil {
		return []agents.Agent{{Client: *r.direct}}, nil
	}
	return r.cluster.Agents(ctx, node)
}

// several reports whether the answers can be from more than one node; if so, they must name the node.
func (r reached) several() bool { return r.direct == nil && r.target.node == "" }

// worded adds a remedy for the user to an error.
func (r reached) worded(err error) error {
	var refused *client.Refusal
	namespace := r.target.agentNamespace
	switch {
	case errors.As(err, &refused) && refused.Kubernetes:
		return wordedAPIServer(err, refused, namespace)
	case refused != nil && (refused.Requests == client.WantsToken || refused.Requests == client.WantsPassword) &&
		r.cluster != nil:
		return fmt.Errorf("%w\nThe API server's proxy does not forward credentials. Bypass it: run kubectl -n %s "+
			"port-forward POD 9717 and use --server=%s with --token-file or the password", err, namespace, localServer)
	case refused != nil && refused.Requests == client.WantsToken:
		return fmt.Errorf("%w: set --token-file", err)
	case refused != nil && refused.Requests == client.WantsPassword:
		return fmt.Errorf("%w: use --server=%s://USER:PASSWORD@%s", err, r.target.server.Scheme, r.target.server.Host)
	case errors.Is(err, agents.ErrNoAgent):
		return fmt.Errorf("%w\nCheck that the DaemonSet runs: kubectl -n %s get pods -o wide. If the agents are in "+
			"another namespace, set --agent-namespace", err, namespace)
	case refused != nil, errors.Is(err, client.ErrNotAnAgent), errors.Is(err, agents.ErrNotBound),
		errors.Is(err, errUnknownPod), r.cluster != nil:
		return err
	}
	return fmt.Errorf("--server: %w", err)
}

func wordedAPIServer(err error, refused *client.Refusal, namespace string) error {
	switch {
	case refused.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w\nThe API server rejects the kubeconfig's credentials: check them with kubectl auth "+
			"whoami", err)
	case refused.Status == http.StatusForbidden:
		return fmt.Errorf("%w\nRequired permissions: in namespace %s, list pods, get pods/proxy, get and create "+
			"pods/portforward; and get on the pod in question", err, namespace)
	case refused.Status >= http.StatusInternalServerError:
		return fmt.Errorf("%w\nThe API server cannot reach the agent, or is overloaded. If a firewall keeps it from "+
			"reaching pods, bypass it: run kubectl -n %s port-forward POD 9717 and use --server=%s", err, namespace,
			localServer)
	}
	return err
}
