package kube

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// NewBearer returns a client for https://ADDRESS. The client authenticates with a token instead of a certificate and
// adds the given headers to each request.
func NewBearer(address, certificates, token string, headers http.Header) (*Client, error) {
	pool, err := authority(certificates)
	if err != nil {
		return nil, err
	}
	headers = headers.Clone()
	if headers == nil {
		headers = http.Header{}
	}
	headers.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, IdleConnTimeout: 30 * time.Second,
	}
	return &Client{base: "https://" + address, http: &http.Client{Transport: withHeaders{transport, headers}}}, nil
}

// withHeaders adds headers to every request.
type withHeaders struct {
	*http.Transport
	headers http.Header
}

// RoundTrip implements http.RoundTripper.
func (t withHeaders) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for name, values := range t.headers {
		request.Header[name] = values
	}
	return t.Transport.RoundTrip(request)
}

// authority reads the lab's CA certificate from the directory "certificates".
func authority(certificates string) (*x509.CertPool, error) {
	text, err := os.ReadFile(filepath.Join(certificates, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the lab's CA certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("read the lab's CA certificate: the file ca.crt contains no certificate")
	}
	return pool, nil
}
