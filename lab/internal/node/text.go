package node

import "strings"

// indent adds spaces to quoted log lines, to distinguish them from the lab's own output.
func indent(text string) string {
	if text == "" {
		text = "(nothing)"
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
