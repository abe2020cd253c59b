package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestFixturesMatchSchema(t *testing.T) {
	schema := startuptest.TimelineSchema(t)
	for _, tl := range append(startuptest.All(), timeline.Timeline{State: timeline.StateStarting, Partial: true}) {
		schema.Check(t, encodeLine(t, NewRecord(tl)))
	}
}

// TestEveryFieldIsInTheSchema checks a record with every possible field set.
func TestEveryFieldIsInTheSchema(t *testing.T) {
	var record Record
	startuptest.Fill(&record)
	line, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	schema := startuptest.TimelineSchema(t)
	schema.Check(t, line)
	for what, spoiled := range map[string]string{
		"another field":           strings.Replace(string(line), `{"id"`, `{"other":1,"id"`, 1),
		"an unknown nested field": strings.Replace(string(line), `"phases":[{`, `"phases":[{"other":1,`, 1),
		"no id":                   strings.Replace(string(line), `"id":"x",`, "", 1),
		"a truncated instant": strings.Replace(string(line), `"created_at":"2026-03-01T12:01:00.000000000Z"`,
			`"created_at":"2026-03-01"`, 1),
	} {
		if spoiled == string(line) || schema.Validate([]byte(spoiled)) == nil {
			t.Errorf("%s is accepted in %s", what, spoiled)
		}
	}
}

// TestNodeStartUpMatchesSchema checks the line of a node's start-up with every possible field set.
func TestNodeStartUpMatchesSchema(t *testing.T) {
	var line NodeStartUpLine
	startuptest.Fill(&line)
	line.NodeStartUp.State = "ready"
	schema := startuptest.ReadSchema(t, "docs/records.schema.json", "#/$defs/node_startup_line")
	text := encodeLine(t, line)
	schema.Check(t, text)
	spoiled := strings.Replace(string(text), `"phases":[{`, `"phases":[{"other":1,`, 1)
	if spoiled == string(text) || schema.Validate([]byte(spoiled)) == nil {
		t.Errorf("an unknown field is accepted in %s", spoiled)
	}
}
