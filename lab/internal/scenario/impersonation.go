package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// nodeImpersonation runs the agent with the token of a pod on the node. The token contains the node's name, like a
// token that the kubelet mounts. The token's only permissions on pods come from node impersonation. The agent must
// report a start-up as usual. Then the scenario uses the same token for requests that the real API server must refuse.
func nodeImpersonation(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const account, home = "agent", "home"
	err := b.CreateAccount(ctx, account,
		rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"nodes"},
			Verbs: []string{"impersonate:associated-node"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "nodes"}, Verbs: []string{
			"impersonate-on:associated-node:list", "impersonate-on:associated-node:watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list", "watch"}})
	if err != nil {
		return err
	}
	if err := b.CreateSecret(ctx, "secret"); err != nil {
		return err
	}
	// The pod mounts the Secret, so the Node authorizer allows the node to read the Secret. If the API server refuses
	// the agent's request for the Secret, only the impersonation rules can be the reason.
	token, err := homeToken(ctx, b, account, home, bench.SecretVolume("secret"))
	if err != nil {
		return err
	}
	kubeconfig, err := b.Node.TokenKubeconfig("scenario-agent", token)
	if err != nil {
		return err
	}
	flags := []string{"--kubeconfig=" + kubeconfig, "--impersonate-node=on", "--node-health", "--node-warm-up=0s"}
	if err := b.Node.RestartAgentWith(ctx, node.AgentChange{Flags: flags}); err != nil {
		return err
	}
	timeline, err := startPlain(ctx, b, "mine", b.BaseImage)
	if err != nil {
		return err
	}
	v.Contract(timeline)
	if err := (healthRun{b, v}).awaitSamples(ctx, "the agent to report its node", reportedWithin,
		sample{"podlapse_node_available", nil, 1}); err != nil {
		v.Problem("%v", err)
	}
	flags = append(flags, "--node-name="+layout.NodeName, "--cri-endpoint=unix://"+b.Node.ContainerdSocket())
	runCheckCommand(ctx, b, v, flags, "node impersonation applies")
	return tryToken(ctx, b, v, token, true)
}

// runCheckCommand runs the command "podlapse-agent check". The command must succeed and print the given text.
func runCheckCommand(ctx context.Context, b *bench.Bench, v *Verdict, flags []string, want string) {
	output, err := exec.CommandContext(ctx, b.Node.Agent(), append([]string{"check"}, flags...)...).CombinedOutput()
	v.Compared++
	if err != nil {
		v.Problem("podlapse-agent check: %v, want no error in\n%s", err, output)
	} else if !strings.Contains(string(output), want) {
		v.Problem("podlapse-agent check: %q is missing in\n%s", want, output)
	}
	for line := range strings.Lines(string(output)) {
		v.Note("check: %s", strings.TrimSuffix(line, "\n"))
	}
}

// tryToken sends requests with the token. The API server must allow the requests that the agent needs, and must refuse
// all other requests. If nodeHealth is true, the agent reports the node's health and needs its Node object.
func tryToken(ctx context.Context, b *bench.Bench, v *Verdict, token string, nodeHealth bool) error {
	const here, elsewhere = "system:node:" + layout.NodeName, "system:node:node-2"
	pods, mine := "/api/v1/pods", "/api/v1/pods?fieldSelector=spec.nodeName%3D"+layout.NodeName
	const nodes = "/api/v1/nodes"
	secrets := "/api/v1/namespaces/" + b.Namespace + "/secrets"
	as := func(user string, groups ...string) http.Header {
		headers := http.Header{"Impersonate-User": {user}}
		if len(groups) > 0 {
			headers["Impersonate-Group"] = groups
		}
		return headers
	}
	for _, attempt := range []struct {
		what    string
		path    string
		headers http.Header
		allowed bool
	}{
		{"its node's pods", mine, as(here), true},
		{"Events under its own name", "/api/v1/events?watch=true&timeoutSeconds=1", nil, true},
		{"pods without a selector", pods, as(here), false},
		{"another node's pods", "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-2", as(here), false},
		{"pods of a namespace", "/api/v1/namespaces/" + b.Namespace + "/pods", as(here), false},
		{"secrets", "/api/v1/secrets", as(here), false},
		{"a secret of a pod on its node", secrets + "/secret", as(here), false},
		{"its node", nodes + "?fieldSelector=metadata.name%3D" + layout.NodeName, as(here), nodeHealth},
		{"another node", nodes + "?fieldSelector=metadata.name%3Dnode-2", as(here), false},
		{"all nodes", nodes, as(here), false},
		{"its node under its own name", nodes + "?fieldSelector=metadata.name%3D" + layout.NodeName, nil, false},
		{"its node by name", "/api/v1/nodes/" + layout.NodeName, as(here), false},
		{"a pod on its node by name", "/api/v1/namespaces/" + b.Namespace + "/pods/mine", as(here), false},
		{"Events as its node", "/api/v1/events?watch=true&timeoutSeconds=1", as(here), false},
		{"another node's pods as that node", "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-2", as(elsewhere), false},
		{"all pods as another user", pods, as("system:kube-scheduler"), false},
		{"all pods as an administrator", pods, as(here, "system:masters"), false},
		{"its node's pods under its own name", mine, nil, false},
		{"secrets under its own name", "/api/v1/secrets", nil, false},
	} {
		err := getAs(ctx, b, token, attempt.headers, attempt.path)
		v.Compared++
		var status *kube.StatusError
		refused := errors.As(err, &status) && status.Code == http.StatusForbidden
		switch {
		case attempt.allowed && err != nil:
			v.Problem("a request for %s must be allowed, but failed: %v", attempt.what, err)
		case !attempt.allowed && err == nil:
			v.Problem("a request for %s must be forbidden, but the API server allowed the request", attempt.what)
		case !attempt.allowed && !refused:
			v.Problem("a request for %s must be forbidden, but failed differently: %v", attempt.what, err)
		default:
			v.Note("%s: %s", attempt.what, responseOf(err))
		}
	}
	return nil
}

func getAs(ctx context.Context, b *bench.Bench, token string, headers http.Header, path string) error {
	client, err := b.Node.KubeAs(token, headers)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Get(ctx, path, nil)
}

func responseOf(err error) string {
	var status *kube.StatusError
	if errors.As(err, &status) {
		return fmt.Sprintf("%d %s", status.Code, status.Message)
	}
	return "allowed"
}

// metricsAuth requests the agent's metrics and data. Some accounts have the required permission, and some accounts do
// not. Some requests have no token, or an invented token. Then metricsAuth sends malicious requests.
func metricsAuth(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const agent, scraper, prometheus, reader, unauthorized = "agent", "scraper", "prometheus", "reader", "unauthorized"
	read := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "events"},
		Verbs: []string{"list", "watch"}}
	failures := []error{
		b.CreateAccount(ctx, agent, read),
		b.BindAccount(ctx, agent, "system:auth-delegator"),
		b.CreateAccount(ctx, scraper, rbacv1.PolicyRule{NonResourceURLs: []string{"/podlapse/metrics"},
			Verbs: []string{"get"}}),
		b.CreateAccount(ctx, prometheus, rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"},
			Verbs: []string{"get"}}),
		b.CreateAccount(ctx, reader, rbacv1.PolicyRule{NonResourceURLs: []string{"/podlapse/api/*"},
			Verbs: []string{"get"}}),
		b.CreateAccount(ctx, unauthorized),
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	tokens := map[string]string{"an anonymous client": "", "a client with a made-up token": "made.up.token"}
	for _, account := range []string{agent, scraper, prometheus, reader, unauthorized} {
		token, err := b.Token(ctx, account, "")
		if err != nil {
			return err
		}
		tokens[account] = token
	}
	kubeconfig, err := b.Node.TokenKubeconfig("scenario-agent", tokens[agent])
	if err != nil {
		return err
	}
	if err := b.Node.RestartAgentWith(ctx,
		node.AgentChange{Flags: []string{"--kubeconfig=" + kubeconfig, "--web-auth=kubernetes"}}); err != nil {
		return err
	}
	for _, attempt := range []struct {
		who, path string
		want      int
	}{
		{scraper, "/metrics", http.StatusOK}, {scraper, "/metrics", http.StatusOK},
		{scraper, "/api/v1/pods", http.StatusForbidden},
		{prometheus, "/metrics", http.StatusOK}, {prometheus, "/api/v1/pods", http.StatusForbidden},
		{reader, "/api/v1/pods", http.StatusOK}, {reader, "/metrics", http.StatusForbidden},
		{reader, "/debug/observations", http.StatusForbidden},
		// Through the ClusterRole system:discovery, every account can read /api/* of the API server. This ClusterRole
		// must not allow accounts to read /api/* of the agent.
		{unauthorized, "/metrics", http.StatusForbidden}, {unauthorized, "/api/v1/pods", http.StatusForbidden},
		{"an anonymous client", "/metrics", http.StatusUnauthorized},
		{"a client with a made-up token", "/metrics", http.StatusUnauthorized},
		{"an anonymous client", "/readyz", http.StatusOK}, {"an anonymous client", "/livez", http.StatusOK},
	} {
		status, _, err := tokenClient{server: b.Agent.Server}.request(ctx, attempt.path, tokens[attempt.who])
		if err != nil {
			return err
		}
		v.Compared++
		if status != attempt.want {
			v.Problem("%s requests %s: got status %d, want %d", attempt.who, attempt.path, status, attempt.want)
		}
		v.Note("%s requests %s: status %d", attempt.who, attempt.path, status)
	}
	return judgeHostile(ctx, b, v, tokens[scraper])
}

// tokenClient sends requests with a token to an agent.
type tokenClient struct {
	server string
	client http.Client
}

func (a tokenClient) request(ctx context.Context, path, token string) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	const most = 8 << 20
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	return response.StatusCode, string(text), err
}
