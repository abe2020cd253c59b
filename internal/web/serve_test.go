package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/crypto/bcrypt"
)

// files is a directory with a web configuration file and the files that it names.
type files struct {
	t   *testing.T
	dir string
}

func (f files) config() string { return filepath.Join(f.dir, "web.yaml") }

func (f files) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// certify replaces the certificate with a new certificate that has the given serial number.
func (f files) certify(serial int64) {
	f.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		f.t.Fatal(err)
	}
	f.write("tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))
	f.write("tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

func hashOf(t *testing.T, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}

// browse sends one request over a new connection.
func browse(t *testing.T, url, user, password string) (*http.Response, error) {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
		DisableKeepAlives: true, //nolint:gosec // the test checks the certificate itself
	}
	t.Cleanup(transport.CloseIdleConnections)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	response, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return response, err
}

const tlsOnly = "tls_server_config: {cert_file: tls.crt, key_file: tls.key}\n"

func TestTLSFilesAreReloaded(t *testing.T) {
	f := files{t, t.TempDir()}
	f.write("web.yaml", tlsOnly)
	f.certify(1)
	config := (&fake{}).config()
	config.WebConfigFile = f.config()
	address := startServer(t, config)
	want := func(serial int64) {
		t.Helper()
		response, err := browse(t, "https://"+address+"/metrics", "", "")
		if err != nil {
			t.Fatal(err)
		}
		got := response.TLS.PeerCertificates[0].SerialNumber.Int64()
		if got != serial || response.ProtoMajor != 2 || response.StatusCode != 200 {
			t.Errorf("certificate %d, %s, %s, want certificate %d", got, response.Proto, response.Status, serial)
		}
	}
	want(1)
	f.certify(2)
	want(2)
	f.write("tls.key", "half writ")
	if response, err := browse(t, "https://"+address+"/metrics", "", ""); err == nil {
		t.Errorf("served with an invalid key: %s", response.Status)
	}
	f.certify(3)
	want(3)
	if response, err := browse(t, "http://"+address+"/metrics", "", ""); err != nil ||
		response.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %v, %v, want an error", response, err)
	}
}

// In TestSilentClients, clients open a connection and send nothing, or only a part of a TLS handshake.
func TestSilentClients(t *testing.T) {
	f := files{t, t.TempDir()}
	f.write("web.yaml", tlsOnly)
	f.certify(1)
	secure := (&fake{}).config()
	secure.WebConfigFile = f.config()
	for name, test := range map[string]struct {
		config Config
		says   string
	}{
		"nothing": {(&fake{}).config(), ""}, "nothing, TLS": {secure, ""},
		"half a TLS hello": {secure, "\x16\x03\x01\x02\x00\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connectFrom(t, "127.0.0.1", startServer(t, test.config))
			if _, err := io.WriteString(conn, test.says); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(2 * headerTimeout))
			if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
				t.Errorf("still open after %s", 2*headerTimeout)
			}
		})
	}
}

func TestPasswords(t *testing.T) {
	f := files{t, t.TempDir()}
	f.certify(1)
	f.write("web.yaml", tlsOnly+"basic_auth_users: {scraper: "+hashOf(t, "right")+"}\n")
	core, logs := observer.New(zap.DebugLevel)
	config := (&fake{}).config()
	config.WebConfigFile, config.Logger = f.config(), zap.New(core)
	address := startServer(t, config)
	want := func(path, user, password string, status int) {
		t.Helper()
		response, err := browse(t, "https://"+address+path, user, password)
		if err != nil || response.StatusCode != status {
			t.Errorf("%s as %q with %q: %v, %v, want %d", path, user, password, response, err, status)
			return
		}
		if response.Header.Get("X-Content-Type-Options") == "" ||
			(response.Header.Get("WWW-Authenticate") == "Basic") != (status == 401) {
			t.Errorf("%s as %q with %q: headers %v", path, user, password, response.Header)
		}
	}
	want("/metrics", "scraper", "right", 200)
	want("/metrics", "scraper", "right", 200)
	want("/metrics", "scraper", "wrong", 401)
	want("/metrics", "stranger", "right", 401)
	want("/metrics", "", "", 401)
	want("/api/v1/pods", "", "", 401)
	want("/none", "", "", 401)
	want("/livez", "", "", 200)
	want("/livez", "scraper", "wrong", 200)
	want("/readyz", "", "", 503) // no part is up
	f.write("web.yaml", tlsOnly+"basic_auth_users: {scraper: "+hashOf(t, "changed")+"}\n")
	want("/metrics", "scraper", "right", 401)
	want("/metrics", "scraper", "changed", 200)
	for _, entry := range logs.All() {
		text := fmt.Sprint(entry.Message, entry.ContextMap())
		if strings.Contains(text, "right") || strings.Contains(text, "changed") {
			t.Errorf("logs a password: %s", text)
		}
	}
}

// With an invalid web configuration, the server responds only to probes, and logs the problem once.
func TestWebConfigurationBecomesInvalid(t *testing.T) {
	f := files{t, t.TempDir()}
	f.write("web.yaml", "basic_auth_users: {scraper: "+hashOf(t, "right")+"}\n")
	core, logs := observer.New(zap.ErrorLevel)
	config := (&fake{}).config()
	config.WebConfigFile, config.Logger = f.config(), zap.New(core)
	address := startServer(t, config)
	response, err := browse(t, "http://"+address+"/metrics", "scraper", "right")
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("%v, %v", response, err)
	}
	f.write("web.yaml", "basic_auth_users: [")
	for range 3 {
		if response, err := browse(t, "http://"+address+"/metrics", "scraper", "right"); err != nil ||
			response.StatusCode != 500 {
			t.Errorf("%v, %v, want 500", response, err)
		}
	}
	if response, err := browse(t, "http://"+address+"/livez", "", ""); err != nil || response.StatusCode != 200 {
		t.Errorf("a probe: %v, %v", response, err)
	}
	if logs.Len() != 1 {
		t.Errorf("%d messages, want one", logs.Len())
	}
}

// In TestPasswordFlood, the server computes one hash for each password, one after another. During this time, the
// server responds to probes and users with a cached password at once.
func TestPasswordFlood(t *testing.T) {
	f := files{t, t.TempDir()}
	f.write("web.yaml", "basic_auth_users: {scraper: "+hashOf(t, "right")+"}\n")
	config := (&fake{}).config()
	config.WebConfigFile = f.config()
	address := startServer(t, config)
	known := func() {
		t.Helper()
		if response, err := browse(t, "http://"+address+"/metrics", "scraper", "right"); err != nil ||
			response.StatusCode != 200 {
			t.Errorf("%v, %v", response, err)
		}
	}
	known()
	before := heap()
	var flooding sync.WaitGroup
	statuses := make(chan int, 120)
	for worker := range 4 {
		flooding.Go(func() {
			for i := range cap(statuses) / 4 {
				response, err := browse(t, "http://"+address+"/metrics", "scraper",
					fmt.Sprint(worker, i)+strings.Repeat("x", 10000))
				if err != nil {
					t.Error(err)
					return
				}
				statuses <- response.StatusCode
			}
		})
	}
	alive(t, "127.0.0.1", address)
	known()
	flooding.Wait()
	close(statuses)
	for status := range statuses {
		if status != http.StatusUnauthorized {
			t.Errorf("a made-up password got %d", status)
		}
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
}

func TestCheckConfigFile(t *testing.T) {
	f := files{t, t.TempDir()}
	f.certify(1)
	for text, test := range map[string]struct {
		required RequiredAuth
		reason   string
	}{
		"":      {RequiredAuth{}, ""},
		tlsOnly: {RequiredAuth{}, ""},
		"basic_auth_users: {a: " + hashOf(t, "b") + "}":              {RequiredAuth{Passwords: true}, ""},
		"basic_auth_users: {a: b}":                                   {RequiredAuth{}, "hash"},
		"tls_server_config: {cert_file: tls.crt}":                    {RequiredAuth{}, "key_file"},
		"tls_server_config: {cert_file: none, key_file: tls.key}":    {RequiredAuth{}, "none"},
		"tls_server_config: {cert_file: tls.key, key_file: tls.crt}": {RequiredAuth{}, "X509KeyPair"},
		"tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_auth_type: RequireAndVerifyClientCert, " +
			"client_ca_file: tls.crt}": {RequiredAuth{Certificates: true}, ""},
		"tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_auth_type: VerifyClientCertIfGiven, " +
			"client_ca_file: tls.crt}": {RequiredAuth{}, ""},
		"no_such_key: 1": {RequiredAuth{}, "no_such_key"},
		"http_server_config: {headers: {Set-Cookie: a}}": {RequiredAuth{}, "Set-Cookie"},
	} {
		f.write("web.yaml", text)
		required, err := CheckConfigFile(f.config())
		if required != test.required || (err == nil) != (test.reason == "") || err != nil &&
			!strings.Contains(err.Error(), test.reason) {
			t.Errorf("%q: %+v, %v, want %+v, %q", text, required, err, test.required, test.reason)
		}
	}
	if _, err := CheckConfigFile(filepath.Join(f.dir, "absent")); err == nil {
		t.Error("a missing file counts as a configuration")
	}
}
