package pki

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// WriteKubeconfig writes a kubeconfig with an embedded client certificate and an embedded key. The kubeconfig contains
// no file paths, so a copy works in any directory. The format is JSON, which is valid YAML.
func WriteKubeconfig(path, server, certificates, name string) error {
	certificate, err := os.ReadFile(filepath.Join(certificates, name+".crt"))
	if err != nil {
		return fmt.Errorf("read certificate for kubeconfig: %w", err)
	}
	key, err := os.ReadFile(filepath.Join(certificates, name+".key"))
	if err != nil {
		return fmt.Errorf("read certificate for kubeconfig: %w", err)
	}
	return writeKubeconfig(path, server, certificates, name,
		object{"client-certificate-data": certificate, "client-key-data": key})
}

// WriteTokenKubeconfig writes a kubeconfig that contains a bearer token.
func WriteTokenKubeconfig(path, server, certificates, name, token string) error {
	return writeKubeconfig(path, server, certificates, name, object{"token": token})
}

type object = map[string]any

func writeKubeconfig(path, server, certificates, name string, user object) error {
	authority, err := os.ReadFile(filepath.Join(certificates, "ca.crt"))
	if err != nil {
		return fmt.Errorf("read certificate for kubeconfig: %w", err)
	}
	data, err := json.MarshalIndent(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "lab",
		"clusters": []object{{"name": "lab",
			"cluster": object{"server": server, "certificate-authority-data": authority}}},
		"users":    []object{{"name": name, "user": user}},
		"contexts": []object{{"name": "lab", "context": object{"cluster": "lab", "user": name}}},
	}, "", " ")
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
