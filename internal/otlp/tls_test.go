package otlp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// With https, the exporters never send credentials without TLS, whatever the values of other variables.
func TestInsecureMustAgreeWithTheEndpoint(t *testing.T) {
	const common, ofTraces, ofMetrics = "OTEL_EXPORTER_OTLP_INSECURE", "OTEL_EXPORTER_OTLP_TRACES_INSECURE",
		"OTEL_EXPORTER_OTLP_METRICS_INSECURE"
	const https, clear = "https://collector:4318", "http://collector:4318"
	for _, test := range []struct {
		variables map[string]string
		wrong     []string // the variables that the errors must name
	}{
		{map[string]string{endpoint: https, common: "true"}, []string{common}},
		{map[string]string{endpoint: "HTTPS://collector:4318", common: "TRUE"}, []string{common}},
		{map[string]string{endpoint: clear, common: "false"}, []string{common}},
		{map[string]string{endpoint: https, ofTraces: "true"}, []string{ofTraces}},
		{map[string]string{endpoint: https, ofMetrics: "true", common: "true"}, []string{ofMetrics, common}},
		{map[string]string{endpoint: clear, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": https, common: "true"},
			[]string{common}},
		{map[string]string{endpoint: clear, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": https, common: "true",
			ofMetrics: "false"}, nil},
		{map[string]string{endpoint: https, "OTEL_METRICS_EXPORTER": "none", ofMetrics: "true"}, nil},
		{map[string]string{endpoint: https, common: "false"}, nil},
		{map[string]string{endpoint: clear, common: "true"}, nil},
	} {
		for _, protocol := range []string{protocolHTTP, protocolGRPC} {
			variables := maps.Clone(test.variables)
			variables["OTEL_EXPORTER_OTLP_PROTOCOL"] = protocol
			_, err := from(variables)
			if err == nil && len(test.wrong) == 0 {
				continue
			}
			if err == nil || strings.Count(err.Error(), "because the scheme of OTEL_EXPORTER_OTLP") != len(test.wrong) {
				t.Errorf("%v: %v", variables, err)
				continue
			}
			for _, name := range test.wrong {
				if !strings.Contains(err.Error(), name+": invalid value ") {
					t.Errorf("%v: %v", variables, err)
				}
			}
		}
	}
}

// For an https endpoint, the exporters start with TLS, even if the variable INSECURE is set and agrees with the
// scheme.
func TestHTTPSUsesTLS(t *testing.T) {
	for _, protocol := range []string{protocolHTTP, protocolGRPC} {
		for _, insecure := range []string{"", "false"} {
			t.Run(protocol+" "+insecure, func(t *testing.T) {
				listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				first := make(chan []byte, 1)
				go func() {
					connection, err := listener.Accept()
					if err != nil {
						return
					}
					defer connection.Close()
					sent := make([]byte, 2000)
					n, _ := connection.Read(sent)
					first <- sent[:n]
				}()
				defer listener.Close()
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://"+listener.Addr().String())
				t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
				t.Setenv("OTEL_EXPORTER_OTLP_INSECURE", insecure)
				t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
				sink := run(t)
				sink.Offer(stuck())
				// The first bytes of a TLS handshake record (RFC 8446, 5.1).
				if sent := <-first; !bytes.HasPrefix(sent, []byte("\x16\x03")) ||
					bytes.Contains(sent, []byte("secret")) {
					t.Errorf("sent first %.80q", sent)
				}
			})
		}
	}
}

// clientPair writes a client certificate and its key to files.
func clientPair(t *testing.T) (certificate, key string) {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agent"},
		NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &made.PublicKey, made)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(made)
	if err != nil {
		t.Fatal(err)
	}
	return pemFile(t, "CERTIFICATE", signed), pemFile(t, "EC PRIVATE KEY", private)
}

func pemFile(t *testing.T, kind string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The exporters present a valid client certificate to the collector.
func TestClientCertificateIsSent(t *testing.T) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		t.Run(prefix, func(t *testing.T) {
			var collector receiver
			var shown atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				shown.Add(int64(len(request.TLS.PeerCertificates)))
				collector.ServeHTTP(w, request)
			}))
			server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
			server.StartTLS()
			defer server.Close()
			certificate, key := clientPair(t)
			t.Setenv(endpoint, server.URL)
			t.Setenv("OTEL_METRICS_EXPORTER", "none")
			t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", pemFile(t, "CERTIFICATE", server.Certificate().Raw))
			t.Setenv(prefix+"CLIENT_CERTIFICATE", certificate)
			t.Setenv(prefix+"CLIENT_KEY", key)
			sink := run(t)
			sink.Offer(stuck())
			eventually(t, "the trace arrives", func() bool { return len(collector.spans()) > 0 })
			sink.stop()
			if shown.Load() != 1 {
				t.Errorf("shown %d certificates", shown.Load())
			}
		})
	}
}

// The exporters ignore a certificate without a key, or a key without a certificate. The agent refuses an incomplete
// pair and names the missing variable.
func TestIncompleteKeyPairIsRefused(t *testing.T) {
	certificate, key := clientPair(t)
	const common, ofTraces = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	for _, test := range []struct {
		variables map[string]string
		want      string // empty if both signals have a pair
	}{
		{map[string]string{common + "CLIENT_CERTIFICATE": certificate, common + "CLIENT_KEY": key}, ""},
		{map[string]string{common + "CLIENT_CERTIFICATE": certificate},
			common + "CLIENT_CERTIFICATE requires " + common + "CLIENT_KEY"},
		{map[string]string{ofTraces + "CLIENT_CERTIFICATE": certificate, common + "CLIENT_KEY": key,
			"OTEL_METRICS_EXPORTER": "none"},
			ofTraces + "CLIENT_CERTIFICATE requires " + ofTraces + "CLIENT_KEY"},
		{map[string]string{ofTraces + "CLIENT_KEY": key, common + "CLIENT_KEY": key,
			common + "CLIENT_CERTIFICATE": certificate},
			ofTraces + "CLIENT_KEY requires " + ofTraces + "CLIENT_CERTIFICATE"},
		{map[string]string{ofTraces + "CLIENT_CERTIFICATE": key, ofTraces + "CLIENT_KEY": key},
			ofTraces + "CLIENT_CERTIFICATE and " + ofTraces + "CLIENT_KEY: "},
	} {
		variables := maps.Clone(test.variables)
		variables[endpoint] = "https://collector:4318"
		_, err := from(variables)
		if (err == nil) != (test.want == "") || err != nil && strings.Count(err.Error(), test.want) != 1 {
			t.Errorf("%v: %v, want %q", test.variables, err, test.want)
		}
	}
}
