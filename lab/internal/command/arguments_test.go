package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/floor"
)

func emptyEnvironment(string) string { return "" }

func TestInvalidArguments(t *testing.T) {
	for call, want := range map[string]string{
		"":                        "missing command",
		"rise":                    `unknown command "rise"`,
		"up now":                  `unexpected argument "now"`,
		"up --fast":               "-fast",
		"build --agent x":         "-agent",
		"down --agent x":          "-agent",
		"scenario":                "must be one of first, second",
		"scenario third":          "must be one of first, second",
		"scenario first second":   `unexpected argument "second"`,
		"scenario --agent":        "-agent",
		"serve-registry":          "only the lab itself runs this command",
		"follow-pods /k node-2":   "only the lab itself runs this command",
		"status --sample":         "-sample",
		"list everything":         `unexpected argument "everything"`,
		"scenario first --sample": "-sample",
	} {
		_, err := parse(strings.Fields(call), emptyEnvironment, []string{"first", "second"})
		var usageError UsageError
		if !errors.As(err, &usageError) || !strings.Contains(usageError.Problem, want) ||
			!strings.Contains(err.Error(), "lab help") {
			t.Errorf("%q: error %v, want %q", call, err, want)
		}
	}
}

func TestValidArguments(t *testing.T) {
	agent := func(name string) string {
		if name == "PODLAPSE_AGENT" {
			return "/from/environment"
		}
		return ""
	}
	for call, want := range map[string]arguments{
		"up":                        {command: "up", agent: "/from/environment"},
		"up --agent /a --sample":    {command: "up", agent: "/a", sample: true},
		"up --image /i":             {command: "up", agent: "/from/environment", image: "/i"},
		"scenario first --image=/i": {command: "scenario", scenario: "first", agent: "/from/environment", image: "/i"},
		"scenario first --agent /a": {command: "scenario", scenario: "first", agent: "/a"},
		"scenario --agent=/a first": {command: "scenario", scenario: "first", agent: "/a"},
		"scenario first --before b": {command: "scenario", scenario: "first", agent: "/from/environment", before: "b"},
		"scenario first --seed 7":   {command: "scenario", scenario: "first", agent: "/from/environment", seed: 7},
		"build":                     {command: "build"},
		"down":                      {command: "down"},
		"--help":                    {command: "help"},
		"up --help":                 {command: "help"},
		"serve-registry /dir":       {command: "serve-registry", dir: "/dir"},
		"follow-pods /k n /r /s": {command: "follow-pods",
			floor: floor.Config{Kubeconfig: "/k", Node: "n", Ready: "/r", Socket: "/s"}},
	} {
		got, err := parse(strings.Fields(call), agent, []string{"first"})
		if call == "up --help" {
			got.agent = ""
		}
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", call, got, err, want)
		}
	}
}
