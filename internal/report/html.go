package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed report.html
var pageText string

// HTML returns the report as one HTML file. The file has no scripts and loads nothing. The template escapes all names.
// The argument "clean" is a function that removes control characters from a text.
func HTML(r Report, clean func(string) string) (string, error) {
	functions := template.FuncMap{"clean": clean, "length": secondsText, "factor": factorText}
	page, err := template.New("report").Funcs(functions).
		Parse(pageText)
	if err != nil {
		return "", fmt.Errorf("read the template of the report: %w", err)
	}
	var out strings.Builder
	if err := page.Execute(&out, &r); err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	return out.String(), nil
}

func factorText(factor *float64) string {
	if factor == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *factor)
}
