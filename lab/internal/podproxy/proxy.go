// Package podproxy imitates an API server that proxies requests to the agents of a cluster. The lab's API server
// proxies requests only to pods, so it cannot reach agents that run as processes. The agent's command "report" lists
// the pods to find the agents. The command then sends its requests through the proxy.
package podproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// agentPort is the container port in the pods that the proxy lists. Clients use this port in the URLs of their
// requests. The proxy forwards the requests to Agent.Server, not to this port.
const agentPort = 9717

// Agent is an agent that runs as a process.
type Agent struct {
	Node   string
	Server string // for example http://127.0.0.1:9717
}

func (a Agent) pod() corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-" + a.Node},
		Spec: corev1.PodSpec{NodeName: a.Node, Containers: []corev1.Container{{Name: "agent",
			Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: agentPort}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// Proxy serves requests until the caller calls Close.
type Proxy struct {
	server   *http.Server
	listener net.Listener
	ended    chan error
}

// Start starts a proxy on a loopback port.
func Start(ctx context.Context, agents ...Agent) (*Proxy, error) {
	handler, err := handlerOf(agents)
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the agents' proxy: %w", err)
	}
	p := &Proxy{server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}, listener: listener,
		ended: make(chan error, 1)}
	go func() { p.ended <- p.server.Serve(listener) }()
	return p, nil
}

// WriteKubeconfig writes a kubeconfig whose API server is the proxy.
func (p *Proxy) WriteKubeconfig(path string) error {
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "lab",
 "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}], "users": [{"name": "lab", "user": {}}],
 "clusters": [{"name": "lab", "cluster": {"server": "http://%s"}}]}
`, p.listener.Addr())
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig of the agents' proxy: %w", err)
	}
	return nil
}

// Close closes all connections.
func (p *Proxy) Close() error {
	err := p.server.Close()
	if served := <-p.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// handlerOf returns the handler of the proxy. The handler lists the agents' pods and forwards GET requests to the
// agents. Like an API server, the handler responds with the status 503 if an agent does not respond. Any other request,
// such as a port-forward, gets the status 404.
func handlerOf(agents []Agent) (http.Handler, error) {
	const pods = "GET /api/v1/namespaces/{namespace}/pods"
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	mux := http.NewServeMux()
	for _, agent := range agents {
		to, err := url.Parse(agent.Server)
		if err != nil {
			return nil, fmt.Errorf("read the address of the agent on node %s: %w", agent.Node, err)
		}
		pod := agent.pod()
		list.Items = append(list.Items, pod)
		proxy := &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(to)
				r.Out.URL.Path, r.Out.URL.RawPath = "/"+r.In.PathValue("path"), ""
			},
			FlushInterval: -1,
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				refuse(w, http.StatusServiceUnavailable, "error trying to reach service: "+err.Error())
			},
		}
		mux.Handle(fmt.Sprintf("%s/%s:%d/proxy/{path...}", pods, pod.Name, agentPort), proxy)
	}
	mux.HandleFunc(pods, func(w http.ResponseWriter, _ *http.Request) { response(w, http.StatusOK, list) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "the server could not find the requested resource")
	})
	return mux, nil
}

func refuse(w http.ResponseWriter, code int, message string) {
	response(w, code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusFailure, Code: int32(code), Message: message,
		Reason: metav1.StatusReason(strings.ReplaceAll(http.StatusText(code), " ", ""))})
}

func response(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // the client reports an incomplete response
}
