package node

// auditPolicy is the file that defines what the API server writes to its audit log.
func (n Node) auditPolicy() string { return n.In("audit-policy.yaml") }

// AuditLog is the file to which the API server writes each request of service accounts as a line of JSON: those of the
// DaemonSet's agents, and those that scenarios send as a service account.
func (n Node) AuditLog() string { return n.In("logs", "audit.jsonl") }

// writeAuditPolicy writes the audit policy. Requests that it excludes cost the API server nothing measurable.
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
