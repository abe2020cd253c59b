package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
)

// unknownCommand returns the reason why the program cannot run the command.
func unknownCommand(call Call) string {
	if len(call.Command) > 1 && call.Command[0] == '-' && call.Command != "--" {
		return call.flagFirst()
	}
	text := fmt.Sprintf("unknown command %q", terminal.ShortName(call.Command))
	if slices.Contains(call.Program.AgentOnly, call.Command) {
		return fmt.Sprintf("%s: only %s has this command: use %s %s", text, AgentProgram, AgentProgram, call.Command)
	}
	root := completions(call)
	// SuggestionsMinimumDistance is the maximum number of different letters between the typed word and a similar
	// command. For a word of three letters, the maximum is 1. If the maximum were 2, almost every word of three letters
	// would be similar to "top".
	root.SuggestionsMinimumDistance = min(max(1, (len(call.Command)+1)/3), 2)
	if similar := root.SuggestionsFor(call.Command); len(similar) > 0 {
		text += ": did you mean " + flags.OneOf(similar) + "?"
	}
	return text
}

// flagFirst returns the error message for a flag that the user put before the command. The message does not contain the
// flag's value, because the value can contain a password.
func (c Call) flagFirst() string {
	name, _, hasValue := strings.Cut(c.Command, "=")
	commands := c.Program.withFlag(strings.TrimLeft(name, "-"))
	if len(commands) == 0 && len(name) > 2 && name[1] != '-' { // a short flag and its value, such as -nshop
		_, size := utf8.DecodeRuneInString(name[1:])
		name, hasValue = name[:1+size], true
		commands = c.Program.withFlag(name[1:])
	}
	if len(commands) == 0 {
		if strings.HasPrefix(c.Command, "--") { // after one dash, as in -nshop, keep only the letter in name
			name, _, _ = strings.Cut(c.Command, "=")
		}
		return fmt.Sprintf("unknown flag %q: the first argument must be a command", terminal.ShortName(name))
	}
	chosen := commands[0]
	for _, arg := range c.Args {
		if i := slices.IndexFunc(commands, func(w commandWithFlag) bool { return w.command == arg }); i >= 0 {
			chosen = commands[i]
			break
		}
	}
	example := fmt.Sprintf("%s %s %s", c.Program.Name, chosen.command, name)
	switch {
	case chosen.flag.Switch && !hasValue:
	case len(name) == len("-n"):
		example += " " + chosen.flag.Value
	default:
		example += "=" + chosen.flag.Value
	}
	return fmt.Sprintf("flag %s must follow the command, for example: %s", name, example)
}

// commandWithFlag is a command and one of its flags.
type commandWithFlag struct {
	command string
	flag    flags.Flag
}

// withFlag returns the commands that have a visible flag with this name or alias. If the name is empty, the result is
// empty.
func (p Program) withFlag(name string) (found []commandWithFlag) {
	for _, c := range p.Commands {
		if c.Flags == nil || name == "" {
			continue
		}
		for _, f := range c.Flags() {
			if !f.Hidden && (f.Name == name || f.Alias == name) {
				found = append(found, commandWithFlag{c.Name, f})
			}
		}
	}
	return found
}
