package registry

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
)

// TestDocumentedRules checks that the registry accepts the rules in the README of the lab.
func TestDocumentedRules(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`/rules --data '(.*)'`).FindAllSubmatch(text, -1)
	if len(examples) < 2 {
		t.Fatalf("the README has %d examples of rules", len(examples))
	}
	for _, example := range examples {
		var next []Rule
		if err := json.Unmarshal(example[1], &next); err != nil {
			t.Fatalf("%s: %v", example[1], err)
		}
		if err := new(activeRules).replaceRules(next); err != nil {
			t.Errorf("%s: %v", example[1], err)
		}
	}
}
