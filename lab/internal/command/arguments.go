package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/floor"
)

// UsageError reports an invalid command line. The text of the error also tells the user to run "lab help".
type UsageError struct{ Problem string }

func (e UsageError) Error() string { return e.Problem + "; run \"lab help\" for help" }

// Quiet is an error that the command has already printed to standard output.
type Quiet struct{ error }

const usage = `Usage: lab COMMAND

  build [--stack NAME]              build the programs of the node ("up" does this too)
  up [--stack NAME] [--agent PATH] [--image ARCHIVE] [--sample]
                                    start or repair the node; with an image, run the agent as the DaemonSet of
                                    manifests/, otherwise as a process; optionally show a sample
  stacks                            list the stacks: combinations of program versions and settings
  down                              stop the node and remove everything except the build cache
  status                            show the components, their health and their addresses
  list                              list the scenarios
  matrix --agent PATH --image ARCHIVE [--stack NAME] [--results DIR]
                                    start a node of each stack, or of one stack, run the scenarios of
                                    docs/compatibility.md on it, and write the results to a directory
  scenario NAME [--stack NAME] [--agent PATH] [--image ARCHIVE] [--seed N] [--before PATH]
                                    inject faults and compare the agent's reports with the truth;
                                    the seed determines all random choices; "compare" requires the
                                    program of another agent

Environment:
  PODLAPSE_AGENT       the agent's program, if --agent is not set
  PODLAPSE_IMAGE       the archive of the agent's image from "make image", if --image is not set
  PODLAPSE_STACK       the stack, if --stack is not set (default: the running node's stack, otherwise "current")
  PODLAPSE_ACCURACY_PAGE  file for the accuracy page that the scenario "blame" writes
  PODLAPSE_BLAME_ROWS  number of faults that the scenario "blame-soak" draws (default 50)
  PODLAPSE_CHURN_MINUTES  length of the scenario "churn" in minutes (default 30)
  PODLAPSE_EVENT_COST  loads of "event-cost": "quick", "floor", "whole" (default), or numbers such as "3,12"
  PODLAPSE_LAB_DIR     state directory (default /var/lib/podlapse-lab)
  PODLAPSE_LAB_CACHE   parent of the build cache (default $XDG_CACHE_HOME, otherwise ~/.cache)
  PODLAPSE_LAB_SOURCE  the lab's source directory, if the lab cannot find it`

// arguments is a parsed command line.
type arguments struct {
	command  string
	agent    string
	image    string // path of an OCI archive with the agent's image
	stack    string // if empty: the stack of the running node; for the command "matrix": all stacks
	results  string // directory for the results of the command "matrix"
	sample   bool
	scenario string
	seed     uint64       // 0 if the command line contains no seed
	before   string       // path of the other agent's program, for the scenario "compare"
	dir      string       // directory of the registry; only for the internal command serve-registry
	guard    string       // the field Dir of the registry's Guard; only for the internal command serve-registry
	floor    floor.Config // only for the internal command follow-pods
}

// parse parses the command line. The flags can be before or after the name of the scenario.
func parse(words []string, getenv func(string) string, scenarios []string) (arguments, error) {
	if len(words) == 0 {
		return arguments{}, UsageError{"missing command"}
	}
	a := arguments{command: words[0]}
	flags := flag.NewFlagSet(a.command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	operands := 0
	switch a.command {
	case "build":
		flags.StringVar(&a.stack, "stack", getenv("PODLAPSE_STACK"), "")
	case "up":
		flags.StringVar(&a.stack, "stack", getenv("PODLAPSE_STACK"), "")
		flags.StringVar(&a.agent, "agent", getenv("PODLAPSE_AGENT"), "")
		flags.StringVar(&a.image, "image", getenv("PODLAPSE_IMAGE"), "")
		flags.BoolVar(&a.sample, "sample", false, "")
	case "matrix":
		flags.StringVar(&a.stack, "stack", getenv("PODLAPSE_STACK"), "")
		flags.StringVar(&a.agent, "agent", getenv("PODLAPSE_AGENT"), "")
		flags.StringVar(&a.image, "image", getenv("PODLAPSE_IMAGE"), "")
		flags.StringVar(&a.results, "results", "lab/compatibility", "")
	case "scenario":
		flags.StringVar(&a.stack, "stack", getenv("PODLAPSE_STACK"), "")
		flags.StringVar(&a.agent, "agent", getenv("PODLAPSE_AGENT"), "")
		flags.StringVar(&a.image, "image", getenv("PODLAPSE_IMAGE"), "")
		flags.Uint64Var(&a.seed, "seed", 0, "")
		flags.StringVar(&a.before, "before", "", "")
		operands = 1
	case registryCommand:
		flags.StringVar(&a.guard, "guard", "", "")
		operands = 1
	case floorCommand:
		operands = 4
	case "down", "status", "list", "stacks":
	case "help", "-h", "--help":
		a.command = "help"
		return a, nil
	default:
		return arguments{}, UsageError{fmt.Sprintf("unknown command %q", a.command)}
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
		return arguments{}, UsageError{fmt.Sprintf("%s: unexpected argument %q", a.command, rest[operands])}
	}
	switch {
	case a.command == "scenario" && len(rest) == 0:
		return arguments{}, UsageError{"scenario: missing name, must be one of " + strings.Join(scenarios, ", ")}
	case a.command == "scenario" && !slices.Contains(scenarios, rest[0]):
		return arguments{},
			UsageError{fmt.Sprintf("scenario: unknown name %q, must be one of %s", rest[0],
				strings.Join(scenarios, ", "))}
	case a.command == "scenario":
		a.scenario = rest[0]
	case (a.command == registryCommand || a.command == floorCommand) && len(rest) < operands:
		return arguments{}, UsageError{a.command + ": only the lab itself runs this command"}
	case a.command == registryCommand:
		a.dir = rest[0]
	case a.command == floorCommand:
		a.floor = floor.Config{Kubeconfig: rest[0], Node: rest[1], Ready: rest[2], Socket: rest[3]}
	}
	return a, nil
}

// interleaved parses flags at any position and returns the words that are not flags.
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
