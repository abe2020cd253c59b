package scenario

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/pki"
)

// The names of objects in the Kustomize components "metrics-auth" and "tls", and the host name in the certificate.
const (
	metricsReader = "podlapse-metrics-reader"
	tlsSecret     = "podlapse-tls"
	tlsName       = "podlapse-agent.podlapse.svc"
)

// certify creates the certificate for the Kustomize component "tls", and returns a TLS configuration that trusts this
// certificate. The cleanup of the bench deletes the certificate.
func certify(ctx context.Context, b *bench.Bench) (*tls.Config, error) {
	dir, err := os.MkdirTemp(b.Node.State, "certificate-")
	if err != nil {
		return nil, fmt.Errorf("create the agent's certificate: %w", err)
	}
	defer os.RemoveAll(dir)
	authority, err := pki.NewAuthority(dir)
	if err != nil {
		return nil, err
	}
	if err := authority.Issue("tls", "podlapse-agent", nil, tlsName); err != nil {
		return nil, err
	}
	secret := corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: tlsSecret, Namespace: node.AgentNamespace},
		Type:       corev1.SecretTypeTLS, Data: map[string][]byte{},
	}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if secret.Data[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("create the agent's certificate: %w", err)
		}
	}
	document, err := json.Marshal(secret)
	if err != nil {
		return nil, fmt.Errorf("encode the agent's certificate: %w", err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(secret.Data["ca.crt"])
	return &tls.Config{RootCAs: trusted, ServerName: tlsName}, b.ApplyOwned(ctx, document)
}

// scrapeWithToken reads the metrics of an agent that uses the Kustomize components "metrics-auth" and "tls". The first
// request has no token. The second request has the token of the account that the component "metrics-auth" creates for
// Prometheus. The agent is already ready, which shows that the kubelet has probed the agent over TLS.
func scrapeWithToken(ctx context.Context, b *bench.Bench, v *Verdict, trust *tls.Config) error {
	token, err := b.AccountToken(ctx, node.AgentNamespace, metricsReader)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: trust}
	defer transport.CloseIdleConnections()
	agent := tokenClient{"https://" + layout.Address(layout.AgentPort), http.Client{Transport: transport}}
	for _, attempt := range []struct {
		token string
		want  int
	}{{"", http.StatusUnauthorized}, {token, http.StatusOK}} {
		status, _, err := agent.request(ctx, "/metrics", attempt.token)
		if err != nil {
			return err
		}
		v.Compared++
		if status != attempt.want {
			v.Problem("with metrics-auth and tls, a metrics request with a token of %d bytes has status %d, want %d",
				len(attempt.token),
				status, attempt.want)
		}
	}
	return nil
}
