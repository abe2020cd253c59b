package registry

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/credentials"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/pki"
)

// Guard protects registries with TLS and basic authentication. The guard's own certificate authority issues the
// certificate. With the zero Guard, registries use plain HTTP without authentication.
type Guard struct {
	Dir string // directory with the certificates and the files of the credential provider plugin
}

// certificateName is the file name, without extension, of the registries' certificate and private key.
const certificateName = "registry"

// IsSet reports whether registries use TLS and basic authentication.
func (g Guard) IsSet() bool { return g.Dir != "" }

// Create creates the authority, the certificate, the user name and the password. For the zero Guard, Create does
// nothing.
func (g Guard) Create() error {
	if !g.IsSet() {
		return nil
	}
	authority, err := pki.NewAuthority(g.Dir)
	if err != nil {
		return err
	}
	if err := authority.Issue(certificateName, "podlapse-lab-registry", nil, layout.Loopback); err != nil {
		return err
	}
	return g.Plugin().CreateLogin()
}

// Plugin returns the files of the credential provider plugin.
func (g Guard) Plugin() credentials.Store { return credentials.Store{Dir: g.Dir} }

// Login returns the user name and the password for the registries. For the zero Guard, the user name and the password
// are empty.
func (g Guard) Login() (credentials.Login, error) {
	if !g.IsSet() {
		return credentials.Login{}, nil
	}
	return g.Plugin().Login()
}

// URL returns the URL of the registry at the given address.
func (g Guard) URL(address string) string {
	if g.IsSet() {
		return "https://" + address
	}
	return "http://" + address
}

// Hosts returns the content of containerd's file hosts.toml for a registry. containerd tries the URLs of the mirrors in
// the given order, and then the URL of the server.
func (g Guard) Hosts(server string, mirrors ...string) string {
	text := fmt.Sprintf("server = %q\n", server) + g.trustSetting(server)
	for _, mirror := range mirrors {
		text += fmt.Sprintf("[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", mirror) + g.trustSetting(mirror)
	}
	return text
}

// trustSetting returns the setting that makes containerd trust the guard's authority.
func (g Guard) trustSetting(url string) string {
	if !g.IsSet() || !strings.HasPrefix(url, "https://") {
		return ""
	}
	return fmt.Sprintf("ca = %q\n", g.authority())
}

func (g Guard) authority() string { return filepath.Join(g.Dir, "ca.crt") }

// Certificate returns the path of the registries' certificate.
func (g Guard) Certificate() string { return filepath.Join(g.Dir, certificateName+".crt") }

// serverConfig returns the TLS configuration of a registry, or nil for the zero Guard. The configuration does not offer
// HTTP/2, because a fault rule can reset a connection only with HTTP/1.
func (g Guard) serverConfig() (*tls.Config, error) {
	if !g.IsSet() {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(g.Certificate(), filepath.Join(g.Dir, certificateName+".key"))
	if err != nil {
		return nil, fmt.Errorf("read the registry's certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// Transport returns the transport of a client that trusts only the guard's authority. For the zero Guard, the transport
// has the default settings.
func (g Guard) Transport() (*http.Transport, error) {
	transport := &http.Transport{}
	if !g.IsSet() {
		return transport, nil
	}
	authority, err := os.ReadFile(g.authority())
	if err != nil {
		return nil, fmt.Errorf("read the CA certificate of the registry: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return transport, nil
}
