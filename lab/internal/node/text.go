package node

import "strings"

// indent distinguishes quoted log lines from the lab's own output.
func indent(text string) string {
	if text == "" {
		text = "(nothing)"
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
