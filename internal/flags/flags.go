// Package flags parses the flags and environment variables of a command. A Table describes the flags. The help texts,
// error messages and shell completion use the same Table.
package flags

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Flag describes one flag of a command: its names, its environment variable and its values.
type Flag struct {
	Name     string // name of the flag without dashes; one letter or several letters
	Alias    string // another name of the flag; empty if the flag has only one name
	Variable string // environment variable that Parse uses if the flag is missing; empty if the flag has no variable
	Value    string // placeholder for the value, such as FILE, or the possible values, such as table|json
	Default  string
	Help     string
	Required bool
	Hidden   bool // true if the help and the completion omit the flag
	Switch   bool // true if the value is "on" or "off", and the flag alone means "on" (see the function Switch)
	// Many is true if a user can give the flag several times. If Many is true, Set receives all values in one text,
	// with one value per line.
	Many bool
	// Set validates and stores the value. If the value is invalid, the error of Set says which values are valid. If the
	// flag has neither a value nor a default, Parse does not call Set.
	Set func(value string) error
	// Suggest lists values for shell completion. Suggest is nil if Value already lists all values or if the values
	// are unknown.
	Suggest func(ctx context.Context, getenv func(string) string) []string
}

// As returns a copy of the flag with the given alias.
func (f Flag) As(alias string) Flag {
	f.Alias = alias
	return f
}

// Table lists the flags of a command in the order in which the help shows them. Parse sets the flags in the same order.
type Table []Flag

// ErrHelp means that the arguments request help.
var ErrHelp = errors.New("help requested")

type givenValue struct {
	value string
	from  string // origin of the value for errors: the flag, or the flag and its environment variable
	// misspelled is true if the arguments contain only a misspelled name of the flag, for example --namspace. Parse
	// then reports the misspelled name, and does not report that the flag is missing.
	misspelled bool
}

// Parse sets every flag from the arguments. If a flag is missing, Parse uses the flag's environment variable. If the
// variable is also missing or empty, Parse uses the default. If a flag has neither a value nor a default, Parse does
// not call the flag's function Set. Parse returns the arguments that are not flags. If the arguments request help, the
// error is ErrHelp. Any other error lists all problems. If a problem concerns a flag, the error names the flag.
func (t Table) Parse(args []string, getenv func(string) string, maxArguments int) ([]string, error) {
	parsed, rest, problems := t.parse(args, maxArguments > 0)
	for _, problem := range problems {
		if errors.Is(problem, ErrHelp) {
			return nil, ErrHelp
		}
	}
	for i := maxArguments; i < len(rest); i++ {
		problems = append(problems, fmt.Errorf("unexpected argument %q", rest[i]))
	}
	for _, f := range t {
		g, ok := parsed[f.Name]
		if g.misspelled {
			continue
		}
		if !ok {
			g, ok = f.fromEnvironment(getenv)
		}
		if !ok {
			if f.Required {
				problems = append(problems, fmt.Errorf("%s is required", f.names()))
			}
			if f.Required || f.Default == "" {
				continue
			}
			g = givenValue{value: f.Default, from: withDashes(f.Name)}
		}
		if err := f.Set(g.value); err != nil {
			problems = append(problems, errors.New(indented(g.from+": "+err.Error())))
		}
	}
	return rest, list(problems)
}

func (f Flag) fromEnvironment(getenv func(string) string) (givenValue, bool) {
	if f.Variable == "" {
		return givenValue{}, false
	}
	value := getenv(f.Variable)
	return givenValue{value: value, from: fmt.Sprintf("%s (from %s)", withDashes(f.Name), f.Variable)}, value != ""
}

// names returns the flag's name and environment variable, for errors about a missing flag.
func (f Flag) names() string {
	if f.Variable == "" {
		return withDashes(f.Name)
	}
	return fmt.Sprintf("%s (or %s)", withDashes(f.Name), f.Variable)
}

// withDashes adds one dash to a name with one letter, and two dashes to a longer name. The help shows flags in this
// form. In arguments, Parse accepts one dash or two dashes before any name.
func withDashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// parse accepts the forms "--flag value" and "--flag=value", with one dash or two dashes. All words after "--" are
// arguments. If a flag is repeated, the last value applies. If the field Many of a repeated flag is true, all values
// apply. After a problem, parse continues, so that it reports all problems. Usually, parse reads the word after a
// switch as the value of the switch. If the command accepts arguments and the word is not a valid value of a switch,
// parse reads the word as an argument.
func (t Table) parse(args []string, arguments bool) (parsed map[string]givenValue, rest []string, problems []error) {
	known := t.known()
	parsed = make(map[string]givenValue)
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return parsed, append(rest, args...), problems
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		f, isKnown := known[name]
		if short, ok := known[arg[1:2]]; !isKnown && ok { // like kubectl, accept -nshop (-n shop) and -Aw (-A -w)
			f, isKnown, name, value, hasValue = short, true, arg[1:2], arg[2:], !short.Switch
			if short.Switch {
				args = slices.Concat([]string{"-" + arg[2:]}, args)
			}
		}
		switch {
		case name == "h" || name == "help":
			problems = append(problems, ErrHelp)
			continue
		case !isKnown:
			similar := t.similar(name)
			problems = append(problems, unknownFlag(name, similar))
			if similar.Name == "" {
				continue
			}
			takesValue := !hasValue && !similar.standsAlone(args, arguments)
			if takesValue && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				args = args[1:] // skip the value of the misspelled flag
			}
			if _, ok := parsed[similar.Name]; !ok {
				parsed[similar.Name] = givenValue{misspelled: true}
			}
			continue
		case !hasValue && f.standsAlone(args, arguments):
			value = on
		case !hasValue && (len(args) == 0 || strings.HasPrefix(args[0], "--")):
			problems = append(problems, fmt.Errorf("%s requires a value", withDashes(name)))
			continue
		case !hasValue:
			value, args = args[0], args[1:]
		}
		if before, ok := parsed[f.Name]; ok && f.Many && !before.misspelled {
			value = before.value + "\n" + value
		}
		parsed[f.Name] = givenValue{value: value, from: withDashes(name)}
	}
	return parsed, rest, problems
}

func (t Table) known() map[string]Flag {
	known := make(map[string]Flag, len(t))
	for _, f := range t {
		known[f.Name] = f
		if f.Alias != "" {
			known[f.Alias] = f
		}
	}
	return known
}

// standsAlone reports whether the flag is a switch without a value on the command line. The argument "next" contains
// the arguments after the flag.
func (f Flag) standsAlone(next []string, arguments bool) bool {
	if !f.Switch {
		return false
	}
	if len(next) == 0 || strings.HasPrefix(next[0], "-") {
		return true
	}
	_, isValue := switchValue(next[0])
	return arguments && !isValue
}

// list combines errors into one error with one line per problem. Without problems, list returns nil.
func list(problems []error) error {
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return problems[0]
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d problems:", len(problems))
	for _, problem := range problems {
		text.WriteString("\n" + problem.Error())
	}
	return errors.New(indented(text.String()))
}

// indented indents all lines of a text except the first.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// PrintHelp prints the command's usage and its flags.
func (t Table) PrintHelp(out io.Writer, program, usage string) {
	fmt.Fprintf(out, "Usage: %s %s\n", program, usage)
	for _, f := range t {
		if f.Hidden {
			continue
		}
		names := withDashes(f.Name)
		if f.Alias != "" {
			names += ", " + withDashes(f.Alias)
		}
		fmt.Fprintf(out, "\n  %s %s\n        %s", names, f.Value, f.Help)
		var notes []string
		if f.Variable != "" {
			notes = append(notes, "env "+f.Variable)
		}
		switch {
		case f.Required:
			notes = append(notes, "required")
		case f.Default != "":
			notes = append(notes, "default "+f.Default)
		}
		if len(notes) > 0 {
			fmt.Fprintf(out, " (%s)", strings.Join(notes, ", "))
		}
		fmt.Fprintln(out)
	}
}
