package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON is a value as indented JSON with a break at its end, in which everything that is not Inert
// is escaped: the same value for a program, harmless on a terminal.
func JSON(value any) (string, error) {
	data, err := encode(value)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return "", fmt.Errorf("indent JSON: %w", err)
	}
	return escape(out.String(), func(r rune) string {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}), nil
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return out.Bytes(), nil
}

// escape replaces what is not Inert, but for breaks of lines. In JSON and in YAML as it is written
// here, such characters are in quoted texts alone.
func escape(text string, as func(rune) string) string {
	var out strings.Builder
	for _, r := range text {
		if Inert(r) || r == '\n' {
			out.WriteRune(r)
		} else {
			out.WriteString(as(r))
		}
	}
	return out.String()
}

// YAML is a value as YAML, with the names and the order of its JSON. Libraries for it print
// characters that turn text around as they are; here they are escaped.
func YAML(value any) (string, error) {
	data, err := encode(value)
	if err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // numbers stay as they are, to the last digit
	var out strings.Builder
	w := yamlWriter{decoder: decoder, out: &out}
	if err := w.value("", "", false); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return out.String(), nil
}

// yamlWriter writes JSON's tokens as YAML in block style.
type yamlWriter struct {
	decoder *json.Decoder
	out     *strings.Builder
}

// value writes the next value behind lead, with which its first line begins; further lines have the
// indent. What stands behind a key begins in a line of its own, unless it fits behind it.
func (w yamlWriter) value(lead, indent string, behindKey bool) error {
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	bracket, isBracket := token.(json.Delim)
	if !isBracket {
		w.out.WriteString(lead + scalar(token) + "\n")
		return nil
	}
	switch {
	case !w.decoder.More():
		w.out.WriteString(lead + map[json.Delim]string{'{': "{}", '[': "[]"}[bracket] + "\n")
	case behindKey:
		w.out.WriteString(strings.TrimRight(lead, " ") + "\n")
		lead = indent
	}
	for w.decoder.More() {
		item := lead + "- "
		if bracket == '{' {
			name, err := w.decoder.Token()
			if err != nil {
				return err
			}
			item = lead + scalar(name) + ": "
			if len(item)-len(lead) > maxSimpleKey {
				item = lead + "? " + scalar(name) + "\n" + indent + ": "
			}
		}
		if err := w.value(item, indent+"  ", bracket == '{'); err != nil {
			return err
		}
		lead = indent
	}
	_, err = w.decoder.Token() // the closing bracket
	return err
}

// maxSimpleKey is how long a key may be with a colon behind it (YAML 1.2, 7.4.2: 1024 characters);
// a longer one is marked.
const maxSimpleKey = 1024

// plain is what YAML takes for a text without quotes, whoever reads it: no number, no date, no word for a truth value.
var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

func scalar(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return "null"
	case string:
		switch strings.ToLower(v) {
		case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		default:
			if plain.MatchString(v) {
				return v
			}
		}
		quoted, err := encode(v)
		if err != nil { // a text can always be encoded
			return `""`
		}
		return escape(strings.TrimSuffix(string(quoted), "\n"), func(r rune) string {
			if r > 0xffff {
				return fmt.Sprintf(`\U%08x`, r)
			}
			return fmt.Sprintf(`\u%04x`, r)
		})
	}
	return fmt.Sprint(token)
}
