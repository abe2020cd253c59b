package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// setting is one flag, one row of a command's table; help and errors are made from it.
type setting struct {
	flag     string // without dashes; of one letter or of many
	alias    string // another name of the flag; empty for none
	variable string // the environment variable read when the flag is not given; empty for none
	value    string // what the value is, in capitals, or its choices
	def      string
	alone    string // the value of a flag that is given without one; empty where it needs one
	help     string
	required bool
	// set checks the value and keeps it. Its error says what would be right.
	set func(value string) error
	// suggest lists values for a shell that completes one; nil where value says all, or nothing can be said.
	suggest func(ctx context.Context, getenv func(string) string) []string
}

// errHelp is returned when the arguments ask for help.
var errHelp = errors.New("help requested")

// given is a value and where it came from.
type given struct {
	value string
	from  string // the flag, or the flag and the variable, as the user wrote them
}

// settle sets every setting from the flags, else the environment, else its default, and returns the
// arguments that are no flags. The error tells of every problem, each with the flag's name; it is
// errHelp when help was asked for.
func settle(settings []setting, args []string, getenv func(string) string, maxArguments int) ([]string, error) {
	flags, rest, problems := parse(settings, args, maxArguments > 0)
	for _, problem := range problems {
		if errors.Is(problem, errHelp) {
			return nil, errHelp
		}
	}
	for i := maxArguments; i < len(rest); i++ {
		problems = append(problems, fmt.Errorf("unexpected argument %q", rest[i]))
	}
	for _, s := range settings {
		g, ok := flags[s.flag]
		if !ok {
			g, ok = fromEnvironment(s, getenv)
		}
		if !ok {
			if s.required {
				problems = append(problems, fmt.Errorf("%s is required", s.names()))
				continue
			}
			g = given{value: s.def, from: dashed(s.flag)}
		}
		if err := s.set(g.value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", g.from, err))
		}
	}
	return rest, list(problems)
}

func fromEnvironment(s setting, getenv func(string) string) (given, bool) {
	if s.variable == "" {
		return given{}, false
	}
	value := getenv(s.variable)
	return given{value: value, from: fmt.Sprintf("%s (from %s)", dashed(s.flag), s.variable)}, value != ""
}

// names is how help and errors call a setting that has no value yet.
func (s setting) names() string {
	if s.variable == "" {
		return dashed(s.flag)
	}
	return fmt.Sprintf("%s (or %s)", dashed(s.flag), s.variable)
}

// dashed is a flag as people write it; either form is read.
func dashed(flag string) string {
	if len(flag) == 1 {
		return "-" + flag
	}
	return "--" + flag
}

// parse reads --flag value, --flag=value, the same with one dash, and whatever stands after --. Of
// a flag given twice the last counts. It goes on after a problem to find the others. Where there can be arguments, what stands behind a
// flag that needs no value is one of them unless it is one of the flag's choices.
func parse(settings []setting, args []string, arguments bool) (flags map[string]given, rest []string, problems []error) {
	known := make(map[string]setting, len(settings))
	for _, s := range settings {
		known[s.flag] = s
		if s.alias != "" {
			known[s.alias] = s
		}
	}
	flags = make(map[string]given)
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return flags, append(rest, args...), problems
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		s, isKnown := known[name]
		if short, ok := known[arg[1:2]]; !isKnown && ok { // -nshop, as kubectl takes it
			s, isKnown, name, value, hasValue = short, true, arg[1:2], arg[2:], true
		}
		switch {
		case name == "h" || name == "help":
			problems = append(problems, errHelp)
			continue
		case !isKnown:
			problems = append(problems, fmt.Errorf("unknown flag %s", dashed(name)))
			continue
		case !hasValue && s.alone != "" && (len(args) == 0 || strings.HasPrefix(args[0], "-") ||
			arguments && !slices.Contains(strings.Split(s.value, "|"), args[0])):
			value = s.alone
		case !hasValue && (len(args) == 0 || strings.HasPrefix(args[0], "--")):
			problems = append(problems, fmt.Errorf("%s needs a value", dashed(name)))
			continue
		case !hasValue:
			value, args = args[0], args[1:]
		}
		flags[s.flag] = given{value: value, from: dashed(name)}
	}
	return flags, rest, problems
}

// list makes one error of many, a line each; nil of none.
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
		text.WriteString("\n  " + problem.Error())
	}
	return errors.New(text.String())
}

// printHelp lists a command's settings.
func printHelp(out io.Writer, program, usage string, settings []setting) {
	fmt.Fprintf(out, "Usage: %s %s\n", program, usage)
	for _, s := range settings {
		names := dashed(s.flag)
		if s.alias != "" {
			names += ", " + dashed(s.alias)
		}
		fmt.Fprintf(out, "\n  %s %s\n        %s", names, s.value, s.help)
		var notes []string
		if s.variable != "" {
			notes = append(notes, "env "+s.variable)
		}
		switch {
		case s.required:
			notes = append(notes, "required")
		case s.def != "":
			notes = append(notes, "default "+s.def)
		}
		if len(notes) > 0 {
			fmt.Fprintf(out, " (%s)", strings.Join(notes, ", "))
		}
		fmt.Fprintln(out)
	}
}
