package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/pkg/client"
)

const (
	localServer = "http://127.0.0.1:9717"
	// agentLimit is the maximum time that a command waits for the response of one agent.
	agentLimit = 8 * time.Second
	maxLimit   = 10 * time.Minute
)

// target contains the flags that select the agents to query: the agent at an address, or the agents of a cluster.
type target struct {
	server            *url.URL // address of the agent; nil to query the agents of a cluster
	noKubeconfig      string   // why the command found no kubeconfig; set only if server is the default address
	token             string   // bearer token for the agent; empty without a token
	authorities       *x509.CertPool
	certFile, keyFile string
	anyCertificate    bool

	kubeconfig, context string
	as                  string   // user to impersonate on the API server; empty without impersonation
	asGroups            []string // groups to impersonate
	node                string
	agentNamespace      string
	verbose             bool
	limit               time.Duration // maximum time of all queries together

	namespace     string // namespace of the pods; empty without --namespace
	allNamespaces bool
	selector      string // label selector of pods; empty selects all pods
}

// filter returns a filter for start-ups. The filter contains the namespace and the label selector from the flags.
func (t *target) filter() client.Filter {
	filter := client.Filter{LabelSelector: t.selector}
	if t.namespace != "" {
		filter.Namespaces = []string{t.namespace}
	}
	return filter
}

// check reports flags that the user cannot combine.
func (t *target) check() error {
	if t.as == "" && len(t.asGroups) > 0 {
		return errors.New("--as-group requires --as: add --as with the user to impersonate")
	}
	if t.server == nil {
		return nil
	}
	for _, f := range []struct{ flag, value string }{
		{"kubeconfig", t.kubeconfig}, {"context", t.context}, {"node", t.node}, {"as", t.as},
	} {
		if f.value != "" {
			return fmt.Errorf("--%s cannot be combined with --server: remove one of them", f.flag)
		}
	}
	return nil
}

// agentAccess contains the agents that a command can query. After the last query, the caller must call the function in
// the field "close".
type agentAccess struct {
	target  target
	direct  *client.Client // agent at the address in --server; nil if cluster is set
	cluster *agents.Cluster
	// namespace applies to resources that the user names without a namespace. With --server, namespace is empty unless
	// the user set --namespace.
	namespace string
	close     func()
}

// open prepares the queries, but does not connect. With --server, the method selects the agent at this URL. Without
// --server, the method selects the agents of the cluster in the kubeconfig. If no kubeconfig exists, the program
// podlapse-agent selects the agent on this machine, but only if the user set none of the flags --server, --kubeconfig,
// --context, --node and --as.
func (t target) open(program string, getenv func(string) string) (agentAccess, error) {
	files := t.kubeconfigs(getenv)
	missing := "no kubeconfig found"
	if names := getenv("KUBECONFIG"); names != "" && t.kubeconfig == "" && len(files) == 0 {
		missing = fmt.Sprintf("no kubeconfig found (KUBECONFIG names only missing files: %s)", names)
	}
	named := t.kubeconfig+t.context+t.node+t.as != ""
	if t.server == nil && program == AgentProgram && !named && len(files) == 0 {
		t.server, _ = url.Parse(localServer)
		t.noKubeconfig = missing
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
		return agentAccess{}, fmt.Errorf("%s: set --kubeconfig or KUBECONFIG, or set --server to the URL of an agent",
			missing)
	}
	return agentAccess{}, fmt.Errorf("read kubeconfig: %w", err)
}

// kubeconfigs lists the default kubeconfig files that exist: the files in KUBECONFIG, or ~/.kube/config. If the user
// sets --kubeconfig, the command does not read the default files.
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

// ofServer returns the names of the flags that the user set and that require --server.
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

func (t target) openCluster(api *rest.Config, namespace string) (agentAccess, error) {
	// ofServer returns flags that configure a direct connection to an agent. Without --server, the command has no
	// direct connection: the API server forwards all requests.
	if given := t.ofServer(); len(given) > 0 {
		return agentAccess{}, fmt.Errorf("--server is required for %s: add --server with the URL of one agent",
			strings.Join(given, ", "))
	}
	api.UserAgent = AgentProgram + "-cli"
	if t.as != "" {
		api.Impersonate = rest.ImpersonationConfig{UserName: t.as, Groups: t.asGroups}
	}
	api.WarningHandler = rest.NoWarnings{} // the default handler prints warnings on stderr
	cluster, err := agents.Open(api, t.agentNamespace)
	if err != nil {
		return agentAccess{}, err
	}
	return agentAccess{target: t, cluster: cluster, namespace: namespace, close: cluster.Close}, nil
}

func (t target) openServer() (agentAccess, error) {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: agentLimit,
		TLSClientConfig: &tls.Config{RootCAs: t.authorities, InsecureSkipVerify: t.anyCertificate},
	}
	if t.certFile+t.keyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.certFile, t.keyFile)
		if err != nil {
			return agentAccess{}, fmt.Errorf("read --cert-file and --key-file: %w", err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return agentAccess{
		target: t, namespace: t.namespace, close: transport.CloseIdleConnections,
		direct: &client.Client{Server: t.server.String(), Token: t.token, HTTP: &http.Client{Transport: transport,
			// an agent never redirects requests
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}},
	}, nil
}

// checkNodeName returns an error if the command queries only one agent at a URL. An agent at a URL cannot be selected
// by the name of its node.
func (r agentAccess) checkNodeName() error {
	if r.cluster != nil {
		return nil
	}
	if reason := r.target.noKubeconfig; reason != "" {
		return fmt.Errorf("%s: the command queries only the local agent at %s and accepts no node name: remove the "+
			"node name, or set --kubeconfig or KUBECONFIG to query the agents of a cluster", reason, localServer)
	}
	return fmt.Errorf("the command queries only the agent at %s and accepts no node name: remove the node name, or "+
		"remove --server and set --kubeconfig to query the agents of a cluster", r.target.server.Redacted())
}

// agents lists the agents to query: the agent of one node, or all agents if the argument "node" is empty.
func (r agentAccess) agents(ctx context.Context, node string) ([]agents.Agent, error) {
	if r.direct != nil {
		return []agents.Agent{{Client: *r.direct}}, nil
	}
	return r.cluster.Agents(ctx, node)
}

// manyNodes reports whether the responses can come from more than one node. If manyNodes returns true, tables have a
// column for the node.
func (r agentAccess) manyNodes() bool { return r.direct == nil && r.target.node == "" }
