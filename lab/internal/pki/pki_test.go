package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	authority, err := NewAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Issue("server", "server", nil, "127.0.0.1", "localhost"); err != nil {
		t.Fatal(err)
	}
	if err := authority.Issue("client", "user-1", []string{"friends"}); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	read := func(name string) *x509.Certificate {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf
	}
	server, client := read("server"), read("client")
	if _, err := server.Verify(x509.VerifyOptions{Roots: pool, DNSName: "127.0.0.1"}); err != nil {
		t.Error(err)
	}
	asClient := x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := client.Verify(asClient); err != nil {
		t.Error(err)
	}
	if _, err := client.Verify(x509.VerifyOptions{Roots: pool}); err == nil {
		t.Error("a client's certificate is valid for a server")
	}
	if client.Subject.CommonName != "user-1" || client.Subject.Organization[0] != "friends" {
		t.Errorf("subject %v", client.Subject)
	}
}

func TestKubeconfigContainsCertificates(t *testing.T) {
	dir := t.TempDir()
	authority, err := NewAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config")
	if err := WriteKubeconfig(path, "https://127.0.0.1:1", dir, "client"); err == nil {
		t.Error("a kubeconfig without a certificate is written")
	}
	if err := authority.Issue("client", "user-1", nil); err != nil {
		t.Fatal(err)
	}
	if err := WriteKubeconfig(path, "https://127.0.0.1:1", dir, "client"); err != nil {
		t.Fatal(err)
	}
	var config struct {
		Users []struct {
			User map[string][]byte `json:"user"`
		} `json:"users"`
	}
	data, _ := os.ReadFile(path)
	if err := json.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(config.Users[0].User["client-certificate-data"],
		config.Users[0].User["client-key-data"]); err != nil {
		t.Error(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig contains a private key, but its mode is %s", info.Mode())
	}
}
