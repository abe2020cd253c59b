package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/manifests"
)

// agentObjects returns the path of a file with manifests. The file contains all objects of the agent that might exist
// in the cluster.
func (n Node) agentObjects() string { return n.In("agent-objects.yaml") }

// applyAgent applies the rendered objects. Then applyAgent deletes the objects that only the previous call rendered,
// for example the role of a component that is no longer used.
func (n Node) applyAgent(ctx context.Context, client *kube.Client, rendered string) error {
	before, err := n.readAgentObjects()
	if err != nil {
		return err
	}
	documents, err := manifests.Documents(rendered)
	if err != nil {
		return err
	}
	// The file contains the objects of the previous call and of this call. If this call is interrupted, a later call
	// can therefore complete the change.
	if err := writeFile(n.agentObjects(), before+"---\n"+rendered); err != nil {
		return err
	}
	for _, document := range documents {
		if err := client.Apply(ctx, fieldManager, document, false); err != nil {
			return err
		}
	}
	if err := removeBut(ctx, client, before, documents); err != nil {
		return err
	}
	return writeFile(n.agentObjects(), rendered)
}

// UninstallAgent removes the DaemonSet and all other objects that DeployAgent applied, except the namespace. Deleting
// the namespace would take a long time, and would also delete other objects in the namespace.
func (n Node) UninstallAgent(ctx context.Context) error {
	before, err := n.readAgentObjects()
	if err != nil {
		return err
	}
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	if err := n.removeAgentPod(ctx, client); err != nil {
		return err
	}
	namespace := fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", AgentNamespace)
	return removeBut(ctx, client, before, [][]byte{[]byte(namespace)})
}

func (n Node) readAgentObjects() (string, error) {
	text, err := os.ReadFile(n.agentObjects())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the file with the agent's objects: %w", err)
	}
	return string(text), nil
}

// removeBut deletes the rendered objects from the cluster, except the objects in the list "kept".
func removeBut(ctx context.Context, client *kube.Client, rendered string, kept [][]byte) error {
	var keep []kube.Name
	for _, document := range kept {
		name, err := kube.NameOf(document)
		if err != nil {
			return err
		}
		keep = append(keep, name)
	}
	documents, err := manifests.Documents(rendered)
	if err != nil {
		return err
	}
	for _, document := range documents {
		name, err := kube.NameOf(document)
		if err != nil {
			return err
		}
		if slices.Contains(keep, name) {
			continue
		}
		if err := client.Remove(ctx, document); err != nil {
			return err
		}
	}
	return nil
}
