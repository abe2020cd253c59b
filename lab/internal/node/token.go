package node

import (
	"net/http"

	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/pki"
)

// KubeAs returns a client of the API server. Each request of the client contains the given token and headers.
func (n Node) KubeAs(token string, headers http.Header) (*kube.Client, error) {
	return kube.NewBearer(layout.Address(layout.APIServerPort), n.certificates(), token, headers)
}

// ProxyKubeconfig writes a kubeconfig for clients that connect to a proxy of the API server. ProxyKubeconfig returns
// the path of the kubeconfig. The proxy adds its own credentials to the requests.
func (n Node) ProxyKubeconfig(name, url string) (string, error) {
	path := n.Kubeconfig(name)
	return path, pki.WriteTokenKubeconfig(path, url, n.certificates(), name, "of-the-proxy")
}

// TokenKubeconfig writes a kubeconfig with a token and returns the path of the kubeconfig.
func (n Node) TokenKubeconfig(name, token string) (string, error) {
	path := n.Kubeconfig(name)
	return path, pki.WriteTokenKubeconfig(path, "https://"+layout.Address(layout.APIServerPort), n.certificates(), name,
		token)
}
