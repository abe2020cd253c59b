package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// UsageError is a wrong call; its text names the remedy.
type UsageError struct{ Problem string }

func (e UsageError) Error() string { return e.Problem + "; \"lab help\" says more" }

// Quiet is a failure that has already been explained on standard output.
type Quiet struct{ error }

const usage = `Usage: lab COMMAND

  up [--agent PATH] [--image ARCHIVE] [--sample]
                                    start the node, or repair it; run the agent on it, from an image as the
                                    DaemonSet of manifests/, else as a process; show a sample
  down                              end the node and remove all of it but the build cache
  status                            say what runs and how to reach it
  list                              name the scenarios
  scenario NAME [--agent PATH] [--image ARCHIVE] [--seed N] [--before PATH]
                                    inject faults and compare what the agent says with the truth;
                                    what is left to chance is drawn with the seed; "compare" wants
                                    another agent's program to compare with

Environment:
  PODLAPSE_AGENT       the agent's program, where --agent is not given
  PODLAPSE_IMAGE       the archive of its image that "make image" makes, where --image is not given
  PODLAPSE_ACCURACY_PAGE  file to which the scenario "blame" writes its result as a page
  PODLAPSE_BLAME_ROWS  how many rows the scenario "blame-soak" draws (default 50)
  PODLAPSE_LAB_DIR     state directory (default /var/lib/podlapse-lab)
  PODLAPSE_LAB_CACHE   parent of the build cache (default $XDG_CACHE_HOME, else ~/.cache)
  PODLAPSE_LAB_SOURCE  the lab's source directory, where it cannot be found by itself`

// arguments is a parsed command line.
type arguments struct {
	command  string
	agent    string
	image    string // an archive
	sample   bool
	scenario string
	seed     uint64 // 0: any
	before   string // another agent's program
	dir      string // of the internal registry command
}

// parse reads the command line. Flags may stand before or after a scenario's name.
func parse(words []string, getenv func(string) string, scenarios []string) (arguments, error) {
	if len(words) == 0 {
		return arguments{}, UsageError{"a command is missing"}
	}
	a := arguments{command: words[0]}
	flags := flag.NewFlagSet(a.command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	operands := 0
	switch a.command {
	case "up":
		flags.StringVar(&a.agent, "agent", getenv("PODLAPSE_AGENT"), "")
		flags.StringVar(&a.image, "image", getenv("PODLAPSE_IMAGE"), "")
		flags.BoolVar(&a.sample, "sample", false, "")
	case "scenario":
		flags.StringVar(&a.agent, "agent", getenv("PODLAPSE_AGENT"), "")
		flags.StringVar(&a.image, "image", getenv("PODLAPSE_IMAGE"), "")
		flags.Uint64Var(&a.seed, "seed", 0, "")
		flags.StringVar(&a.before, "before", "", "")
		operands = 1
	case registryCommand:
		operands = 1
	case "down", "status", "list":
	case "help", "-h", "--help":
		a.command = "help"
		return a, nil
	default:
		return arguments{}, UsageError{fmt.Sprintf("there is no command %q", a.command)}
	}
	rest, err := interleaved(flags, words[1:])
	if errors.Is(err, flag.ErrHelp) {
		a.command = "help"
		return a, nil
	}
	if err != nil {
		return arguments{}, UsageError{fmt.Sprintf("%s: %v", a.command, err)}
	}
	if len(rest) > operands {
		return arguments{}, UsageError{fmt.Sprintf("%s: the word %q is too much", a.command, rest[operands])}
	}
	switch {
	case a.command == "scenario" && len(rest) == 0:
		return arguments{}, UsageError{"scenario: name one of " + strings.Join(scenarios, ", ")}
	case a.command == "scenario" && !slices.Contains(scenarios, rest[0]):
		return arguments{}, UsageError{fmt.Sprintf("scenario: there is no %q; name one of %s", rest[0], strings.Join(scenarios, ", "))}
	case a.command == "scenario":
		a.scenario = rest[0]
	case a.command == registryCommand && len(rest) == 0:
		return arguments{}, UsageError{registryCommand + " is for the lab itself"}
	case a.command == registryCommand:
		a.dir = rest[0]
	}
	return a, nil
}

// interleaved parses flags wherever they stand and returns the other words.
func interleaved(flags *flag.FlagSet, words []string) (rest []string, err error) {
	for len(words) > 0 {
		if err := flags.Parse(words); err != nil {
			return nil, err
		}
		if words = flags.Args(); len(words) > 0 {
			rest, words = append(rest, words[0]), words[1:]
		}
	}
	return rest, nil
}
