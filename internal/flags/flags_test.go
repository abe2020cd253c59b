package flags

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// options contains the values of the flags in these tests.
type options struct {
	switched bool
	name     string
	format   string
	groups   string
}

func (o *options) table() Table {
	return Table{
		Switch("switch", "SWITCH", &o.switched, "a switch").As("s"),
		{Name: "name", Alias: "n", Variable: "NAME", Value: "NAME", Default: "nobody", Help: "a name",
			Set: Text(&o.name)},
		{Name: "o", Value: "table|json", Default: "table", Help: "a format", Set: Choice(&o.format, "table", "json")},
		{Name: "group", Value: "GROUP", Help: "a group", Many: true, Set: Text(&o.groups)},
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		args, variable string // variable is the environment variable of the switch
		arguments      int
		want           options
		rest           string
	}{
		{"", "", 0, options{false, "nobody", "table", ""}, ""},
		{"--switch", "", 0, options{true, "nobody", "table", ""}, ""},
		{"-switch -o json", "", 0, options{true, "nobody", "json", ""}, ""},
		{"--switch=on", "", 0, options{true, "nobody", "table", ""}, ""},
		{"--switch=true", "", 0, options{true, "nobody", "table", ""}, ""},
		{"--switch=off", "on", 0, options{false, "nobody", "table", ""}, ""},
		{"--switch=false", "true", 0, options{false, "nobody", "table", ""}, ""},
		{"--switch on", "", 0, options{true, "nobody", "table", ""}, ""},
		{"--switch false", "on", 0, options{false, "nobody", "table", ""}, ""},
		{"", "true", 0, options{true, "nobody", "table", ""}, ""},
		{"", "off", 0, options{false, "nobody", "table", ""}, ""},
		{"--switch true", "", 1, options{true, "nobody", "table", ""}, ""},
		{"--switch word", "", 1, options{true, "nobody", "table", ""}, "word"},
		{"-nme -ojson word", "", 1, options{false, "me", "json", ""}, "word"},
		{"--name=you -n me", "", 0, options{false, "me", "table", ""}, ""},
		{"-snme", "", 0, options{true, "me", "table", ""}, ""},
		{"-s=false", "on", 0, options{false, "nobody", "table", ""}, ""},
		{"--group=a -group b,c", "", 0, options{false, "nobody", "table", "a\nb,c"}, ""},
		{"-- --switch", "", 1, options{false, "nobody", "table", ""}, "--switch"},
	} {
		var got options
		getenv := func(name string) string { return map[string]string{"SWITCH": test.variable}[name] }
		rest, err := got.table().Parse(strings.Fields(test.args), getenv, test.arguments)
		if err != nil || got != test.want || strings.Join(rest, " ") != test.rest {
			t.Errorf("%q with SWITCH=%s: %+v %q, %v", test.args, test.variable, got, rest, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--switch=yes":        `--switch: invalid value "yes": must be on, off, true or false`,
		"--switch=True":       `--switch: invalid value "True": must be on, off, true or false`,
		"--switch 1":          `--switch: invalid value "1": must be on, off, true or false`,
		"--switch=":           `--switch: invalid value "": must be on, off, true or false`,
		"-o xml":              `-o: invalid value "xml": must be table or json`,
		"--name":              "--name requires a value",
		"--wrong x":           "2 problems:\n  unknown flag --wrong\n  unexpected argument \"x\"",
		"--nam x":             "unknown flag --nam: did you mean --name?",
		"--nxyz=x":            "unknown flag --nxyz",
		"--nam":               "unknown flag --nam: did you mean --name?",
		"--nam --o":           "2 problems:\n  unknown flag --nam: did you mean --name?\n  -o requires a value",
		"--swich x":           "unknown flag --swich: did you mean --switch?",
		"--gruop x --group y": "unknown flag --gruop: did you mean --group?",
		"-x":                  "unknown flag -x",
		"--=x":                "unknown flag --",
		"--wrong -h":          ErrHelp.Error(),
	} {
		var got options
		_, err := got.table().Parse(strings.Fields(args), func(string) string { return "" }, 0)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v; want %s", args, err, want)
		}
	}
}

// TestProblemWithManyLines expects that all lines after the first line of a problem are indented.
func TestProblemWithManyLines(t *testing.T) {
	table := Table{{Name: "file", Value: "FILE", Set: func(string) error { return errors.New("a\nb") }}}
	for args, want := range map[string]string{
		"--file=x":   "--file: a\n  b",
		"--file=x y": "2 problems:\n  unexpected argument \"y\"\n  --file: a\n    b",
	} {
		_, err := table.Parse(strings.Fields(args), func(string) string { return "" }, 0)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

// TestMisspelledRequiredFlag expects only one problem for one mistake.
func TestMisspelledRequiredFlag(t *testing.T) {
	var name string
	table := Table{{Name: "node-name", Value: "NAME", Required: true, Set: Text(&name)},
		{Name: "node-nam", Hidden: true, Set: Text(&name)}}
	none := func(string) string { return "" }
	for _, args := range []string{"--node-nme x", "--node-nme=x", "--nodename x", "--node-nme"} {
		flag, _, _ := strings.Cut(strings.Fields(args)[0], "=")
		want := "unknown flag " + flag + ": did you mean --node-name?"
		if _, err := table.Parse(strings.Fields(args), none, 0); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

func TestPrintHelp(t *testing.T) {
	var out bytes.Buffer
	new(options).table().PrintHelp(&out, "program", "command [flags]")
	const want = `Usage: program command [flags]

  --switch, -s on|off
        a switch (env SWITCH, default off)

  --name, -n NAME
        a name (env NAME, default nobody)

  -o table|json
        a format (default table)

  --group GROUP
        a group
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

func TestDuration(t *testing.T) {
	var got time.Duration
	set := Duration(&got, time.Hour, "at most 1h, for example 10m")
	if err := set("1h"); err != nil || got != time.Hour {
		t.Errorf("%s, %v", got, err)
	}
	for _, value := range []string{"60", "10d", "-1m", "0", "61m", "m"} {
		want := fmt.Sprintf("invalid duration %q: must be a number with the unit s, m or h, and must be at most 1h, "+
			"for example 10m", value)
		if err := set(value); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", value, err, want)
		}
	}
}

// TestEmptyValue uses a script whose variable is unset: the text counts as unset, and the duration is an error.
func TestEmptyValue(t *testing.T) {
	var name string
	var since time.Duration
	table := Table{
		{Name: "name", Value: "NAME", Set: Text(&name)},
		{Name: "since", Value: "DURATION", Set: Duration(&since, time.Hour, "at most 1h, for example 10m")},
	}
	none := func(string) string { return "" }
	if _, err := table.Parse([]string{"--name="}, none, 0); err != nil || name != "" || since != 0 {
		t.Errorf("name %q, since %s, %v", name, since, err)
	}
	const want = "--since: the duration is empty: remove the flag, or set a number with the unit s, m or h, " +
		"at most 1h, for example 10m"
	if _, err := table.Parse([]string{"--since="}, none, 0); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestDurationInDays checks that a flag with a limit of at least a day accepts days, but only whole days.
func TestDurationInDays(t *testing.T) {
	var got time.Duration
	set := Duration(&got, 7*24*time.Hour, "at most 7d")
	for value, want := range map[string]time.Duration{"1d": 24 * time.Hour, "7d": 7 * 24 * time.Hour,
		"36h": 36 * time.Hour} {
		if err := set(value); err != nil || got != want {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
	for _, value := range []string{"8d", "0d", "-1d", "1.5d", "1d12h", "d", "99999999999999999999d"} {
		want := fmt.Sprintf("invalid duration %q: must be a number with the unit s, m, h or d, and must be at most 7d",
			value)
		if err := set(value); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", value, err, want)
		}
	}
}
