package node

import "strings"

// indent adds spaces to log lines that the lab quotes, so that readers can distinguish these lines from the lab's own
// output.
func indent(text string) string {
	if text == "" {
		text = "(nothing)"
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
