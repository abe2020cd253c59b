package node

import "strings"

// indent sets quoted log lines apart from what the lab says itself.
func indent(text string) string {
	if text == "" {
		text = "(nothing)"
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
