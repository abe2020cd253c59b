package node

import (
	"encoding/json"
	"fmt"

	"github.com/podlapse/podlapse/lab/internal/credentials"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// RegistryGuard returns the Guard that protects all registries on the node with TLS and a password. If the stack has no
// private registry, RegistryGuard returns an empty Guard. An empty Guard means plain HTTP without a password.
func (n Node) RegistryGuard() registry.Guard {
	if !n.Stack.PrivateRegistry {
		return registry.Guard{}
	}
	return registry.Guard{Dir: n.In("registry-guard")}
}

// credentialConfig returns the path of the file that tells the kubelet how to run the credential provider plugin.
func (n Node) credentialConfig() string { return n.In("credential-providers.json") }

// writeCredentialConfig writes the file of credentialConfig. If the stack has no private registry,
// writeCredentialConfig does nothing. The kubelet runs the plugin for all images from the lab's registry, which has two
// names. The kubelet also runs the plugin for images with the registry names that scenarios use.
func (n Node) writeCredentialConfig() error {
	guard := n.RegistryGuard()
	if !guard.IsSet() {
		return nil
	}
	config, err := json.MarshalIndent(map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig",
		"providers": []map[string]any{{
			"name": credentials.PluginName, "apiVersion": credentials.APIVersion, "args": []string{guard.Dir},
			"matchImages":          []string{layout.Address(layout.RegistryPort), OtherRegistry, "*.*.invalid"},
			"defaultCacheDuration": "0s",
		}},
	}, "", " ")
	if err != nil {
		return fmt.Errorf("encode the configuration of the credential provider plugin: %w", err)
	}
	return writeFile(n.credentialConfig(), string(config)+"\n")
}
