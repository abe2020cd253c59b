package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/client"
)

const (
	// suggestLimit is how long a shell waits for what a cluster knows.
	suggestLimit = 2 * time.Second
	// maxSuggestions is how many it is told at most.
	maxSuggestions = 500
)

func shells() []string { return []string{"bash", "zsh", "fish"} }

// completions is the commands and their flags as cobra has them, which knows how shells want to be told of them. What is typed is read
// by settle alone.
func completions(program string, getenv func(string) string) *cobra.Command {
	root := &cobra.Command{Use: strings.ReplaceAll(program, " ", "-"), CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}}
	for _, c := range commands(program) {
		sub := &cobra.Command{
			Use: c.name, Short: c.summary, Run: func(*cobra.Command, []string) {}, DisableFlagsInUseLine: true,
			ValidArgsFunction: func(cmd *cobra.Command, args []string, beginning string) ([]string, cobra.ShellCompDirective) {
				switch {
				case len(args) > 0 || c.arguments == nil && !c.files:
					return nil, cobra.ShellCompDirectiveNoFileComp
				case c.files:
					return nil, cobra.ShellCompDirectiveDefault
				}
				ctx, stop := context.WithTimeout(cmd.Context(), suggestLimit)
				defer stop()
				return suggestions(c.arguments(ctx, typed(cmd), getenv, beginning), beginning)
			},
		}
		if c.flags != nil {
			addFlags(sub, c.flags, getenv)
		}
		if c.name == "help" {
			root.SetHelpCommand(sub)
		}
		root.AddCommand(sub)
	}
	return root
}

// suggestions are those that a shell can be told: names from elsewhere that are no names are left out.
func suggestions(all []string, beginning string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	var fit []string
	for _, s := range all {
		if strings.HasPrefix(s, beginning) && terminal.Clean(s) == s && !strings.ContainsAny(s, " \t$`\\\"'") && len(fit) < maxSuggestions {
			fit = append(fit, s)
		}
	}
	if len(fit) > 0 && !slices.ContainsFunc(fit, func(s string) bool { return !strings.HasSuffix(s, "/") }) {
		directive |= cobra.ShellCompDirectiveNoSpace // more of the name follows
	}
	return fit, directive
}

// typed is the flags so far, as they could be typed.
func typed(cmd *cobra.Command) []string {
	var flags []string
	cmd.Flags().Visit(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name+"="+f.Value.String()) })
	return flags
}

func addFlags(cmd *cobra.Command, make func() []setting, getenv func(string) string) {
	for _, s := range make() {
		long, short := s.flag, s.alias
		if len(long) < len(short) {
			long, short = short, long
		}
		cmd.Flags().StringP(long, short, "", s.help)
		if s.alone != "" {
			cmd.Flags().Lookup(long).NoOptDefVal = s.alone
		}
		err := cmd.RegisterFlagCompletionFunc(long, func(cmd *cobra.Command, _ []string, beginning string) ([]string, cobra.ShellCompDirective) {
			switch {
			case s.suggest != nil:
				ctx, stop := context.WithTimeout(cmd.Context(), suggestLimit)
				defer stop()
				return suggestions(suggestValues(ctx, make(), s.flag, typed(cmd), getenv), beginning)
			case s.value == "FILE":
				return nil, cobra.ShellCompDirectiveDefault
			case s.value == "DIR":
				return nil, cobra.ShellCompDirectiveFilterDirs
			case strings.Contains(s.value, "|"):
				return suggestions(strings.Split(s.value, "|"), beginning)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		})
		if err != nil {
			panic(fmt.Sprintf("flag %s is in its table twice: %v", long, err))
		}
	}
}

// suggestValues asks the setting of a table that knows what has been typed so far. What is wrong with that is said when it is run.
func suggestValues(ctx context.Context, settings []setting, flag string, flags []string, getenv func(string) string) []string {
	_, _ = settle(settings, flags, getenv, 0)
	for _, s := range settings {
		if s.flag == flag {
			return s.suggest(ctx, getenv)
		}
	}
	return nil
}

// complete answers a shell's question, asked with cobra's own command.
func complete(ctx context.Context, program string, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	root := completions(program, getenv)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return exitFailed
	}
	return exitOK
}

func runCompletion(_ context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	rest, err := settle(nil, args, getenv, 1)
	if errors.Is(err, errHelp) {
		printHelp(stdout, agentProgram, "completion bash|zsh|fish\n\nPrints a completion script for the shell. Load "+
			"it with: source <(podlapse-agent completion bash)", nil)
		return exitOK
	}
	if err == nil && (len(rest) == 0 || !slices.Contains(shells(), rest[0])) {
		err = errors.New("a shell is required: bash, zsh or fish")
	}
	if err != nil {
		return failUsage(stderr, "completion", err)
	}
	root := completions(agentProgram, getenv)
	switch rest[0] {
	case "bash":
		err = root.GenBashCompletionV2(stdout, true)
	case "zsh":
		err = root.GenZshCompletion(stdout)
	case "fish":
		err = root.GenFishCompletion(stdout, true)
	}
	if err != nil {
		return fail(stderr, "completion", fmt.Errorf("write to standard output: %w", err))
	}
	return exitOK
}

// suggestPods lists pods whose names begin so: those of the API server, or those that the agent at an address knows, gone ones included.
func (a asker) suggestPods(ctx context.Context, flags []string, getenv func(string) string, beginning string) []string {
	var c askConfig
	if _, err := settle(c.settings(), flags, getenv, 0); err != nil {
		return nil
	}
	r, err := c.open(a.program, getenv)
	if err != nil {
		return nil
	}
	defer r.close()
	namespace, _, qualified := strings.Cut(beginning, "/")
	prefix := namespace + "/"
	if !qualified {
		namespace, prefix = r.namespace, ""
	}
	names := r.suggestPods(ctx, namespace, prefix)
	if !qualified && !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, beginning) }) {
		names = c.suggestNamespaces(ctx, getenv)
		for i := range names {
			names[i] += "/"
		}
	}
	return names
}

func (r reached) suggestPods(ctx context.Context, namespace, prefix string) []string {
	var names []string
	if r.cluster != nil {
		var err error
		if names, err = r.cluster.Pods(ctx, namespace); err != nil {
			return nil
		}
	} else if namespace != "" {
		for record, err := range r.direct.Pods(ctx, client.Filter{Namespaces: []string{namespace}}) {
			if err != nil || len(names) == maxSuggestions {
				break
			}
			names = append(names, record.Name)
		}
	}
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

func (t *target) suggestContexts(_ context.Context, getenv func(string) string) []string {
	config, err := t.clientConfig(getenv).RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

func (t *target) suggestNamespaces(ctx context.Context, getenv func(string) string) []string {
	r, err := t.open(agentProgram, getenv)
	if err != nil {
		return nil
	}
	defer r.close()
	if r.cluster != nil {
		names, err := r.cluster.Namespaces(ctx)
		if err != nil {
			return nil
		}
		return names
	}
	names := map[string]bool{}
	for record, err := range r.direct.Pods(ctx, client.Filter{}) {
		if err != nil || len(names) == maxSuggestions {
			break
		}
		names[record.Namespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (t *target) suggestNodes(ctx context.Context, getenv func(string) string) []string {
	r, err := t.open(agentProgram, getenv)
	if err != nil || r.cluster == nil {
		return nil
	}
	defer r.close()
	there, err := r.cluster.Agents(ctx, "")
	if err != nil {
		return nil
	}
	var nodes []string
	for _, agent := range there {
		nodes = append(nodes, agent.Node)
	}
	return nodes
}
