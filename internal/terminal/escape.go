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

// JSON returns a value as indented JSON with a line break at the end. JSON escapes every character for which Printable
// returns false, so that the text is harmless on a terminal. Programs that parse the JSON still read the original
// value.
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

// escape replaces every unprintable character except line breaks. The function Printable defines which characters are
// printable. In JSON and in the YAML of this package, unprintable characters other than line breaks occur only in
// quoted texts.
func escape(text string, as func(rune) string) string {
	var out strings.Builder
	for _, r := range text {
		if Printable(r) || r == '\n' {
			out.WriteRune(r)
		} else {
			out.WriteString(as(r))
		}
	}
	return out.String()
}

// YAML returns a value as YAML, with the field names and the field order of JSON. YAML libraries do not escape
// characters that reverse text. So the function YAML itself writes the text and escapes these characters.
func YAML(value any) (string, error) {
	data, err := encode(value)
	if err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // keep all digits of numbers
	var out strings.Builder
	w := yamlWriter{decoder: decoder, out: &out}
	if err := w.value("", "", false); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return out.String(), nil
}

// yamlWriter converts JSON tokens to YAML in block style.
type yamlWriter struct {
	decoder *json.Decoder
	out     *strings.Builder
}

// value reads the next JSON value and writes it as YAML. The argument "lead" is the text that comes before the value on
// the same line. The argument "indent" is the indent of all lines after the first line. The argument "behindKey" is
// true if the value belongs to a key. After a key, a non-empty object or array begins on a new line.
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

// maxSimpleKey is the maximum length of a simple key, in characters (YAML 1.2, 7.4.2). A key that is longer than
// maxSimpleKey starts with the mark "?".
const maxSimpleKey = 1024

// The pattern "plain" matches texts that need no quotes in YAML. No YAML parser interprets such a text as a number or a
// date. The pattern also matches words such as "true", but the function "scalar" puts quotes around these words.
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
		if err != nil { // cannot happen, because JSON can encode every text
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
