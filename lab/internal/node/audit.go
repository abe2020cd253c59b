package node

// auditPolicy returns the file with the rules for the API server's audit log.
func (n Node) auditPolicy() string { return n.In("audit-policy.yaml") }

// AuditLog returns the file to which the API server writes each request of a service account as a line of JSON. The log
// contains requests of the DaemonSet's agents, and requests that scenarios send as a service account.
func (n Node) AuditLog() string { return n.In("logs", "audit.jsonl") }

// writeAuditPolicy writes the audit policy. The API server's cost for excluded requests is too small to measure.
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
