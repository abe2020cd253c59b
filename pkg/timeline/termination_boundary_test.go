package timeline

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sharedWithTermination lists the unexported declarations that the files termination*.go use from the other files.
var sharedWithTermination = []string{
	// instant.go, bounds.go, constraint.go
	"at", "instant", "maxInstant",
	"bias", "biasLatest", "biasNone", "bound", "eventSlack", "liveSlack", "milestoneKey", "origin", "originArrival",
	"originControlPlane", "originEventName", "originRuntime", "originStatus", "origins", "second",
	// compare.go, exit_code.go
	"codeKilled", "comparePods", "lostRun", "reasonOutOfMemory", "signalKill", "signalOf",
	// verdict.go
	"boundText", "leastNamed", "partLength", "seconds", "unattributedText", "verdictParts",
	// clock_log.go
	"addBounded", "joined", "leastClockSet", "widen",
	// fold_steps_obstacles.go
	"uniquePhases",
}

// TestTerminationIsApart checks that start-ups and terminations stay separate. The other files of the package use only
// the result Termination, for the field of Timeline. The files termination*.go use only the declarations in
// sharedWithTermination, and thus neither the evidence nor the fold of a start-up.
func TestTerminationIsApart(t *testing.T) {
	byStartUps, byTerminations := crossings(t)
	if got := slices.Sorted(maps.Keys(byStartUps)); !slices.Equal(got, []string{"Termination"}) {
		t.Errorf("the files of start-ups use %q from the files termination*.go, want only the type Termination", got)
	}
	for _, name := range []string{"Evidence", "NewEvidence", "Timeline"} {
		if byTerminations[name] {
			t.Errorf("the files termination*.go use %s of a start-up", name)
		}
	}
	got := slices.DeleteFunc(slices.Sorted(maps.Keys(byTerminations)), ast.IsExported)
	if want := slices.Sorted(slices.Values(sharedWithTermination)); !slices.Equal(got, want) {
		t.Errorf("the files termination*.go use\n%q, want\n%q", got, want)
	}
}

// crossings returns the functions, types, constants and variables that one part of the package declares and the other
// part uses: those that the files of start-ups use, and those that the files termination*.go use.
func crossings(t *testing.T) (byStartUps, byTerminations map[string]bool) {
	t.Helper()
	positions := token.NewFileSet()
	ofTermination := func(at token.Pos) bool {
		return strings.HasPrefix(positions.Position(at).Filename, "termination")
	}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	// The declarations of other packages are not needed. So the check loads no package, and ignores the errors that
	// result from this.
	uses := map[*ast.Ident]types.Object{}
	config := types.Config{Importer: noPackages{}, Error: func(error) {}}
	pkg, _ := config.Check("timeline", positions, files, &types.Info{Uses: uses})
	byStartUps, byTerminations = map[string]bool{}, map[string]bool{}
	for name, object := range uses {
		switch used := ofTermination(name.Pos()); {
		case object.Parent() != pkg.Scope() || used == ofTermination(object.Pos()):
		case used:
			byTerminations[object.Name()] = true
		default:
			byStartUps[object.Name()] = true
		}
	}
	return byStartUps, byTerminations
}

// noPackages is an importer that finds no package.
type noPackages struct{}

func (noPackages) Import(string) (*types.Package, error) { return nil, errors.ErrUnsupported }
