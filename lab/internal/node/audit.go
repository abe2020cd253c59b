package node

// auditPolicy returns the path of the audit policy for the API server.
func (n Node) auditPolicy() string { return n.In("audit-policy.yaml") }

// AuditLog returns the path of the API server's audit log. The log contains each request of a service account as a line
// of JSON. DaemonSet agents and some scenarios send requests as a service account.
func (n Node) AuditLog() string { return n.In("logs", "audit.jsonl") }

// writeAuditPolicy writes the audit policy. The policy logs only the requests of service accounts. The policy has no
// measurable cost for requests that it does not log.
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
