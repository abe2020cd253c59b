package pki

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// WriteKubeconfig writes a kubeconfig that holds the named certificate and key themselves, so that
// the file works wherever it is copied to. JSON is YAML.
func WriteKubeconfig(path, server, certificates, name string) error {
	var err error
	read := func(file string) []byte {
		data, readErr := os.ReadFile(filepath.Join(certificates, file))
		if readErr != nil && err == nil {
			err = readErr
		}
		return data
	}
	type object = map[string]any
	config := object{
		"apiVersion": "v1", "kind": "Config", "current-context": "lab",
		"clusters": []object{{"name": "lab", "cluster": object{
			"server": server, "certificate-authority-data": read("ca.crt")}}},
		"users": []object{{"name": name, "user": object{
			"client-certificate-data": read(name + ".crt"), "client-key-data": read(name + ".key")}}},
		"contexts": []object{{"name": "lab", "context": object{"cluster": "lab", "user": name}}},
	}
	if err != nil {
		return fmt.Errorf("read certificate for kubeconfig: %w", err)
	}
	data, err := json.MarshalIndent(config, "", " ")
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
