package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
)

const (
	// suggestLimit is the maximum time that a shell waits for suggestions from a cluster.
	suggestLimit = 2 * time.Second
	// maxSuggestions is the maximum number of suggestions for a shell.
	maxSuggestions = 500
)

func shells() []string { return []string{"bash", "zsh", "fish"} }

// completions describes the program's commands and flags to cobra. cobra implements the completion protocols of the
// shells. The program uses cobra only for completion. When a command runs, flags.Table parses its arguments.
func completions(call Call) *cobra.Command {
	root := &cobra.Command{
		Use:               strings.ReplaceAll(call.Program.Name, " ", "-"),
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	for _, c := range call.Program.Commands {
		sub := &cobra.Command{
			Use: c.Name, Short: c.Summary, SuggestFor: c.Similar, DisableFlagsInUseLine: true,
			Run: func(*cobra.Command, []string) {},
			ValidArgsFunction: func(cmd *cobra.Command, args []string, beginning string) (
				[]string, cobra.ShellCompDirective) {
				switch {
				case len(args) > 0 || c.Arguments == nil && !c.Files:
					return nil, cobra.ShellCompDirectiveNoFileComp
				case c.Files:
					return nil, cobra.ShellCompDirectiveDefault
				}
				ctx, stop := context.WithTimeout(cmd.Context(), suggestLimit)
				defer stop()
				return suggestions(c.Arguments(ctx, call.withArgs(typed(cmd)), beginning), beginning)
			},
		}
		if c.Flags != nil {
			addFlags(sub, c.Flags, call)
		}
		if c.Name == "help" {
			root.SetHelpCommand(sub)
		}
		root.AddCommand(sub)
	}
	return root
}

// withArgs returns a copy of the call that has the given arguments.
func (c Call) withArgs(args []string) Call {
	c.Args = args
	return c
}

// suggestions returns at most maxSuggestions names that start with the text in "beginning". suggestions drops names
// that contain special characters, because names are untrusted and shells would evaluate these characters.
func suggestions(all []string, beginning string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	var fit []string
	for _, s := range all {
		if len(fit) < maxSuggestions && strings.HasPrefix(s, beginning) && terminal.Clean(s) == s &&
			!strings.ContainsAny(s, " \t$`\\\"'") {
			fit = append(fit, s)
		}
	}
	if len(fit) > 0 && !slices.ContainsFunc(fit, func(s string) bool { return !strings.HasSuffix(s, "/") }) {
		directive |= cobra.ShellCompDirectiveNoSpace // the user continues to type the name after the slash
	}
	return fit, directive
}

// typed returns the flags that the user has already typed, in the form --NAME=VALUE.
func typed(cmd *cobra.Command) []string {
	var args []string
	cmd.Flags().Visit(func(f *pflag.Flag) { args = append(args, "--"+f.Name+"="+f.Value.String()) })
	return args
}

func addFlags(cmd *cobra.Command, newTable func() flags.Table, call Call) {
	for _, f := range newTable() {
		if f.Hidden {
			continue
		}
		long, short := f.Name, f.Alias
		if len(long) < len(short) {
			long, short = short, long
		}
		cmd.Flags().StringP(long, short, "", f.Help)
		if f.Switch {
			cmd.Flags().Lookup(long).NoOptDefVal = "on"
		}
		err := cmd.RegisterFlagCompletionFunc(long, func(cmd *cobra.Command, _ []string, beginning string) (
			[]string, cobra.ShellCompDirective) {
			switch {
			case f.Suggest != nil:
				ctx, stop := context.WithTimeout(cmd.Context(), suggestLimit)
				defer stop()
				return suggestions(suggestValues(ctx, newTable(), f.Name, call.withArgs(typed(cmd))), beginning)
			case f.Value == "FILE":
				return nil, cobra.ShellCompDirectiveDefault
			case f.Value == "DIR":
				return nil, cobra.ShellCompDirectiveFilterDirs
			case strings.Contains(f.Value, "|"):
				return suggestions(strings.Split(f.Value, "|"), beginning)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		})
		if err != nil {
			panic(fmt.Sprintf("flag %s is in its table twice: %v", long, err))
		}
	}
}

// suggestValues returns the suggestions for the value of a flag. suggestValues first parses the flags that the user has
// already typed, because suggestions depend on these flags. suggestValues ignores invalid flags, because the command
// itself reports invalid flags.
func suggestValues(ctx context.Context, table flags.Table, name string, call Call) []string {
	_, _ = table.Parse(call.Args, call.Getenv, 0)
	for _, f := range table {
		if f.Name == name {
			return f.Suggest(ctx, call.Getenv)
		}
	}
	return nil
}

// complete responds to a shell's request for completions. To request completions, the shell calls a hidden command of
// cobra.
func complete(ctx context.Context, call Call) int {
	root := completions(call)
	root.SetArgs(append([]string{call.Command}, call.Args...))
	root.SetOut(call.Stdout)
	root.SetErr(call.Stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return ExitFailed
	}
	return ExitOK
}

// Completion returns the command that prints completion scripts.
func Completion() Command {
	return Command{
		Name: "completion", Summary: "print a completion script for bash, zsh or fish", Run: runCompletion,
		Usage: "bash|zsh|fish",
		Description: "Prints a completion script for the shell. Load the script with:\n" +
			"source <(podlapse-agent completion bash)",
		Arguments: func(context.Context, Call, string) []string { return shells() },
	}
}

func runCompletion(_ context.Context, call Call) int {
	rest, code, ok := call.Parse(nil, call.help(), 1)
	if !ok {
		return code
	}
	if len(rest) == 0 {
		return call.FailUsage(errors.New("the name of a shell is required: use bash, zsh or fish"))
	}
	if !slices.Contains(shells(), rest[0]) {
		return call.FailUsage(fmt.Errorf("invalid shell %q: must be %s", terminal.ShortName(rest[0]),
			flags.OneOf(shells())))
	}
	root := completions(call)
	var err error
	switch rest[0] {
	case "bash":
		err = root.GenBashCompletionV2(call.Stdout, true)
	case "zsh":
		err = root.GenZshCompletion(call.Stdout)
	case "fish":
		err = root.GenFishCompletion(call.Stdout, true)
	}
	if err != nil {
		return call.Fail(fmt.Errorf("write to standard output: %w", err))
	}
	return ExitOK
}
