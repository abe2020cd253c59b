package node

import (
	"fmt"
	"os"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/pki"
)

// The names of certificates and kubeconfigs.
const (
	adminUser      = "admin"
	agentUser      = "agent"
	controllerUser = "controller-manager"
	schedulerUser  = "scheduler"
	kubeletUser    = "kubelet"
	serving        = "serving"
	etcdClient     = "etcd-client"
	tokenKey       = "service-account"
)

// AgentName is the user name in the certificate of an agent that runs as a process.
const AgentName = "podlapse-agent"

// writeCertificates creates the node's certificate authority, all certificates, and the kubeconfigs. Kubernetes binds
// built-in roles to some user names and groups in these certificates, for example to system:kube-scheduler.
func (n Node) writeCertificates() error {
	authority, err := pki.NewAuthority(n.certificates())
	if err != nil {
		return err
	}
	clients := []struct {
		file, user string
		groups     []string
	}{
		{adminUser, "podlapse-lab-admin", []string{"system:masters"}},
		{controllerUser, "system:kube-controller-manager", nil},
		{schedulerUser, "system:kube-scheduler", nil},
		{kubeletUser, "system:node:" + layout.NodeName, []string{"system:nodes"}},
		{agentUser, AgentName, nil},
		{etcdClient, "etcd-client", nil},
	}
	for _, client := range clients {
		if err := authority.Issue(client.file, client.user, client.groups); err != nil {
			return err
		}
	}
	hosts := []string{layout.Loopback, "localhost", layout.NodeName, firstServiceAddress, "kubernetes.default.svc"}
	if err := authority.Issue(serving, "podlapse-lab", nil, hosts...); err != nil {
		return err
	}
	if err := authority.IssueKeyPair(tokenKey); err != nil {
		return err
	}
	server := "https://" + layout.Address(layout.APIServerPort)
	for _, user := range []string{adminUser, agentUser, controllerUser, schedulerUser, kubeletUser} {
		if err := pki.WriteKubeconfig(n.Kubeconfig(user), server, n.certificates(), user); err != nil {
			return err
		}
	}
	return nil
}

// AdminKubeconfig returns the path of the administrator's kubeconfig.
func (n Node) AdminKubeconfig() string { return n.Kubeconfig(adminUser) }

// AgentKubeconfig returns the path of the agent's kubeconfig. The user of this kubeconfig has only the permissions that
// the agent needs.
func (n Node) AgentKubeconfig() string { return n.Kubeconfig(agentUser) }

// writeFile writes a configuration file.
func writeFile(path, content string) error {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write a configuration file: %w", err)
	}
	return nil
}
