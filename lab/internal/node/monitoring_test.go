package node

import (
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

func TestMonitoringLabelsNodes(t *testing.T) {
	var config struct {
		Global  map[string]string `yaml:"global"`
		Rules   []string          `yaml:"rule_files"`
		Scrapes []struct {
			Static []struct {
				Targets []string
				Labels  map[string]string
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	text := Monitoring{Interval: 5 * time.Second, Extra: "node-2"}.config("/rules")
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	if config.Global["scrape_interval"] != "5s" || len(config.Rules) != 1 || config.Rules[0] != "/rules" ||
		len(config.Scrapes) != 1 {
		t.Fatalf("got %+v", config)
	}
	if alone := (Monitoring{NoAgents: true}).config("/rules"); strings.Contains(alone, "targets") {
		t.Errorf("without agents, the configuration has targets:\n%s", alone)
	}
	nodes := map[string]string{}
	for _, s := range config.Scrapes[0].Static {
		nodes[s.Targets[0]] = s.Labels["node"]
	}
	if len(nodes) != 2 || nodes["127.0.0.1:9717"] != "node-1" || nodes["127.0.0.1:9718"] != "node-2" {
		t.Errorf("got %v", nodes)
	}
}

func TestRules(t *testing.T) {
	if rules, err := Rules(); err != nil || len(rules) == 0 {
		t.Errorf("%d bytes, %v", len(rules), err)
	}
}
