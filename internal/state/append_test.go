package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestAppendedSectionsEqualWholeFile makes random changes, with a save after some of the changes. An agent that loads
// the appended sections must hold the same data as an agent that loads a file with one section.
func TestAppendedSectionsEqualWholeFile(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 2))
		b := newBench(t, Contents{})
		stages := map[string]stage{}
		for i := range 80 {
			pod := fmt.Sprintf("pod-%d", random.IntN(6))
			stages[pod] = b.changeRandomly(random, pod, stages[pod], float64(i))
			if random.IntN(3) == 0 {
				if err := b.save(); err != nil {
					t.Fatal(err)
				}
			}
		}
		appended, sections := b.appended(t), b.Saver.appended
		whole := b.saved(t)
		got, want := newBench(t, appended).saved(t), newBench(t, whole).saved(t)
		if sections == 0 || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: from %d appended bytes, the next agent has\n%s\nwant\n%s", seed, sections, list(got),
				list(want))
		}
	}
}

// stage is the stage of a pod's life.
type stage int

const (
	absent stage = iota
	starting
	reported
	removedBeforeReport
	removed
)

// changeRandomly makes a random change that package reconcile or a sink makes in the given stage, and returns the next
// stage.
func (b *bench) changeRandomly(random *rand.Rand, pod string, before stage, at float64) stage {
	choice := random.IntN(8)
	switch {
	case choice == 0:
		b.SetEventsUntil(after(at))
	case choice == 1:
		b.Observe(runtimeSilent(at, at+1.5), true)
	case before == absent:
		b.Observe(seen(pod, at, ""), true)
		return starting
	case before == starting && choice == 2, before == removedBeforeReport && choice < 5:
		b.Reported(pod)
		if before == removedBeforeReport {
			return removed
		}
		return reported
	case before == starting && choice == 3:
		b.Gone(pod)
		return removedBeforeReport
	case before == starting && choice == 4:
		b.Observe(event(pod, at, "x"), true)
	case before == starting:
		b.Observe(seen(pod, at, "x"), choice == 5)
	case before == reported && choice == 2:
		b.Gone(pod)
		return removed
	case before == reported:
		b.ObserveTermination(acknowledged(pod, at), true)
	}
	return before
}

// list describes contents, with a line for each observation.
func list(c Contents) string {
	var text strings.Builder
	fmt.Fprintf(&text, "reported %v, Events until %v\n", c.Reported, c.EventsUntil)
	for _, observations := range [][]timeline.Observation{c.InFlight, c.Terminations} {
		for _, o := range observations {
			fmt.Fprintf(&text, "%T %q at %v\n", o, o.PodUID(), o.Arrived().Sub(created))
		}
	}
	return text.String()
}

// TestChangeDuringSave reports or removes a pod after the save has encoded the pod's observations.
func TestChangeDuringSave(t *testing.T) {
	for name, test := range map[string]struct{ before, during func(k *Saver) }{
		"a deleted pod is reported": {func(k *Saver) {
			k.Observe(seen("a", 1, ""), true)
			k.Observe(gone("a", 2), true)
			k.Gone("a")
		}, func(k *Saver) { k.Reported("a") }},
		"a terminating pod is removed": {func(k *Saver) {
			k.Observe(seen("a", 1, ""), true)
			k.Reported("a")
			k.ObserveTermination(acknowledged("a", 2), true)
		}, func(k *Saver) { k.Gone("a") }},
		"a reported pod is terminating": {func(k *Saver) {
			k.Observe(seen("a", 1, ""), true)
		}, func(k *Saver) { k.Reported("a"); k.ObserveTermination(acknowledged("a", 2), true) }},
	} {
		b := newBench(t, Contents{})
		test.before(b.Saver)
		observations := b.encode()
		test.during(b.Saver)
		section, _, err := b.section(observations)
		if err != nil || !b.append(section) {
			t.Fatalf("%s: %v", name, err)
		}
		appended := b.appended(t)
		got, want := newBench(t, appended).saved(t), newBench(t, b.saved(t)).saved(t)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the next agent has\n%s\nwant\n%s", name, list(got), list(want))
		}
	}
}

// TestUnfinishedSectionIsIgnored truncates a file at every byte of its last section.
func TestUnfinishedSectionIsIgnored(t *testing.T) {
	b := newBench(t, Contents{})
	b.Observe(seen("a", 1, ""), true)
	before := b.appended(t)
	length := len(b.saves[len(b.saves)-1])
	b.Observe(event("a", 2, "x"), true)
	b.Reported("b")
	b.appended(t)
	text := b.saves[len(b.saves)-1]
	for end := length; end < len(text); end++ {
		got, err := parse(text[:end], "node-1")
		if err != nil || !reflect.DeepEqual(got, before) {
			t.Fatalf("truncated to %d of %d bytes: %+v, %v", end, len(text), got, err)
		}
	}
	for at := range length {
		changed := append([]byte(nil), text...)
		changed[at] ^= 1
		if _, err := parse(changed, "node-1"); err == nil {
			t.Errorf("byte %d of an earlier section is changed, but the file counts as undamaged", at)
		}
	}
}

// TestSaveReplacesFileAfterFailedAppend changes the file in ways that make an append fail or unsafe.
func TestSaveReplacesFileAfterFailedAppend(t *testing.T) {
	for name, disturb := range map[string]func(file string) error{
		"removed":   os.Remove,
		"truncated": func(file string) error { return os.Truncate(file, 9) },
		"longer": func(file string) error {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("half a sec")
			return errors.Join(err, f.Close())
		},
		"a directory": func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
	} {
		path := t.TempDir()
		_, k, _, err := saverIn(path)
		if err != nil {
			t.Fatal(err)
		}
		k.Observe(seen("a", 1, ""), true)
		if err := k.save(); err != nil || k.appended == 0 {
			t.Fatalf("%v, %d bytes appended", err, k.appended)
		}
		file := filepath.Join(path, fileName)
		if err := disturb(file); err != nil {
			t.Fatal(err)
		}
		k.Observe(event("a", 2, "x"), true)
		if err := k.save(); err != nil {
			if name != "a directory" { // nothing can replace a directory by a file
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := []timeline.Observation{seen("a", 1, ""), event("a", 2, "x")}
		if c, err := parse(text, "node-1"); err != nil || !reflect.DeepEqual(c.InFlight, want) {
			t.Errorf("%s: left %+v, %v", name, c, err)
		}
	}
}

// TestFileStaysSmall checks that a save replaces the file before the appended sections become too large.
func TestFileStaysSmall(t *testing.T) {
	b := newBench(t, Contents{})
	b.Observe(seen("a", 1, ""), true)
	for i := range 2000 {
		b.Observe(seen("a", float64(i), "latest"), false)
		if err := b.save(); err != nil {
			t.Fatal(err)
		}
		if n := len(b.saves[len(b.saves)-1]); n > maxAppended+8<<10 {
			t.Fatalf("save %d: the file has %d bytes", i, n)
		}
		b.saves = b.saves[len(b.saves)-1:]
	}
}
