package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// pageOf maps a flag to the documentation page that describes it in detail.
var pageOf = map[string]string{
	"impersonate-node": "security.md", "events": "pulls.md#when-a-source-is-missing",
	"web-auth": "security.md#who-may-read",
	"records":  "records.md", "history-limit": "api.md#deleted-pods", "serve-objects": "api.md#pod-objects",
	"annotate": "annotations.md", "termination": "termination.md", "rollout-traces": "otlp.md#ids",
	"life-traces": "otlp.md#after-the-start-up", "verify-interval": "watch.md", "watch-delays": "watch.md",
	"state-dir": "restarts.md", "record-observations": "recording.md", "debug-observations": "recording.md",
	"debug-profiles": "security.md#profiles", "node-health": "node.md", "node-warm-up": "node.md",
	"node-startup": "node-startup.md", "proc-dir": "node-startup.md",
	"addons": "node.md#add-ons", "pressure": "node.md#pressure", "node-address": "probes.md",
	"probes-file": "probes.md",
}

// TestConfigurationDocument compares docs/configuration.md with the flags of the command `run`.
func TestConfigurationDocument(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(`# Configuration

This page lists the flags of ` + "`podlapse-agent run`" + `. The page is generated from the agent's table of flags
(` + "`go test ./cmd/agent -run ConfigurationDocument -update`" + `).

- Each flag has an environment variable. If the flag and the variable are both set, the flag takes precedence.
- A switch is a flag with the values ` + "`on` and `off`" + `. A switch also accepts ` + "`true` and `false`" + `.
  A switch without a value is on: ` + "`--annotate` means `--annotate=on`" + `.
- ` + "`podlapse-agent check`" + ` accepts the flags of ` + "`podlapse-agent run`" + `.
  The command ` + "`check`" + ` tests the permissions, connections and files that these flags require.
- With ` + "`OTEL_EXPORTER_OTLP_ENDPOINT`" + `, the agent also sends [traces and metrics over OTLP](otlp.md).
  The agent also accepts the other standard ` + "`OTEL_*`" + ` variables.

| flag | variable | value | default | meaning |
|---|---|---|---|---|
`)
	unused := len(pageOf)
	for _, f := range new(config).flagTable() {
		byDefault := "`" + f.Default + "`"
		switch {
		case f.Required:
			byDefault = "required"
		case f.Default == "":
			byDefault = "none"
		}
		help := f.Help
		if page := pageOf[f.Name]; page != "" {
			help += fmt.Sprintf(" ([more](%s))", page)
			unused--
		}
		fmt.Fprintf(&doc, "| `--%s` | `%s` | %s | %s | %s |\n", f.Name, f.Variable,
			"`"+strings.ReplaceAll(f.Value, "|", "`, `")+"`", byDefault, help)
	}
	if unused != 0 {
		t.Errorf("%d pages are for unknown flags", unused)
	}
	const path = "../../docs/configuration.md"
	if *update {
		if err := os.WriteFile(path, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != doc.String() {
		t.Errorf("docs/configuration.md does not match the flags of run (%v): "+
			"go test ./cmd/agent -run ConfigurationDocument -update", err)
	}
}
