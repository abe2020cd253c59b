package blame

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the matrix as a Markdown table, in seconds.
func (m Matrix) Markdown(out io.Writer) {
	blamed := m.Blamed()
	fmt.Fprintf(
		out,
		"| actual cause | %s |\n|---|%s\n",
		strings.Join(blamed, " | "),
		strings.Repeat("--:|", len(blamed)),
	)
	for _, culprit := range m.Culprits() {
		fmt.Fprintf(out, "| **%s** |", culprit)
		for _, b := range blamed {
			text := ""
			if length := m.Of(culprit, b); length > 0 {
				text = fmt.Sprintf("%.1f", length.Seconds())
			}
			fmt.Fprintf(out, " %s |", text)
		}
		fmt.Fprintln(out)
	}
}
