package node

// auditPolicy is the file that says what the API server writes to its audit log.
func (n Node) auditPolicy() string { return n.In("audit-policy.yaml") }

// AuditLog is the file in which the API server notes each request of service accounts, as a line of JSON: of the DaemonSet's agents, and
// of those that scenarios run in the name of one.
func (n Node) AuditLog() string { return n.In("logs", "audit.jsonl") }

// writeAuditPolicy writes it. What is not noted costs the API server nothing that could be measured.
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
