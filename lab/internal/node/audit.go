package node

// auditPolicy returns the path of the audit policy for the API server.
func (n Node) auditPolicy() string { return n.In("audit-policy.yaml") }

// AuditLog returns the path of the API server's audit log. The log contains the requests of all service accounts, as
// lines of JSON. For example, a DaemonSet's agent and some scenarios send requests as a service account.
func (n Node) AuditLog() string { return n.In("logs", "audit.jsonl") }

// writeAuditPolicy writes the audit policy. With this policy, the API server logs only the requests of service
// accounts. For all other requests, the policy has no measurable cost.
func (n Node) writeAuditPolicy() error {
	return writeFile(n.auditPolicy(), `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`)
}
