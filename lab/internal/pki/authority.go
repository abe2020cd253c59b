// Package pki creates the node's certificates and the kubeconfigs that contain the certificates. Each new start of the
// lab creates a new certificate authority. The certificates are deleted with the lab's state.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const lifetime = 10 * 365 * 24 * time.Hour

// Authority is the certificate authority that signs the lab's certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	dir         string
}

// NewAuthority creates a certificate authority and writes its certificate to the file ca.crt in dir. NewAuthority does
// not write the private key, because only this process signs certificates.
func NewAuthority(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create certificate directory: %w", err)
	}
	template, err := template("podlapse-lab")
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the authority's key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the authority's certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("create the authority's certificate: %w", err)
	}
	a := &Authority{certificate: certificate, key: key, dir: dir}
	return a, write(filepath.Join(dir, "ca.crt"), "CERTIFICATE", der)
}

// Issue writes a certificate to NAME.crt and its private key to NAME.key. The certificate contains the user name, the
// groups and the hosts. Every certificate is valid for clients. A certificate with hosts is also valid for servers,
// because an etcd peer has both roles.
func (a *Authority) Issue(name, user string, groups []string, hosts ...string) error {
	template, err := template(user)
	if err != nil {
		return err
	}
	template.Subject.Organization = groups
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if len(hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create the key of %s: %w", name, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("create the certificate of %s: %w", name, err)
	}
	if err := write(filepath.Join(a.dir, name+".crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	return writeKey(filepath.Join(a.dir, name+".key"), key)
}

// IssueKeyPair writes a private key to NAME.key and its public key to NAME.pub. The API server signs and verifies
// service account tokens with this key pair.
func (a *Authority) IssueKeyPair(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create the key of %s: %w", name, err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode the key of %s: %w", name, err)
	}
	if err := write(filepath.Join(a.dir, name+".pub"), "PUBLIC KEY", der); err != nil {
		return err
	}
	return writeKey(filepath.Join(a.dir, name+".key"), key)
}

func template(user string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("create a serial number: %w", err)
	}
	// The validity starts an hour before the current time, because a new virtual machine might still correct its clock.
	notBefore := time.Now().Add(-time.Hour)
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: user},
		NotBefore: notBefore, NotAfter: notBefore.Add(lifetime)}, nil
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}
	return write(path, "EC PRIVATE KEY", der)
}

func write(path, kind string, der []byte) error {
	data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("write a certificate: %w", err)
	}
	return nil
}
