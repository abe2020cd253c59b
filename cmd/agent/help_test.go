package main

import (
	"regexp"
	"testing"

	"github.com/podlapse/podlapse/internal/cli"
)

// TestHelpDocument compares the help of the kubectl plugin with docs/cli.md. -update rewrites the block.
func TestHelpDocument(t *testing.T) {
	help := runProgram(t, cli.PluginProgram, environment{}, "help")
	help.must(t, cli.ExitOK, "Other commands:", "")
	block := regexp.MustCompile("(?s)```console\n\\$ kubectl podlapse help\n(.*?)```\n")
	hold(t, "../../docs/cli.md", block, help.stdout)
}
