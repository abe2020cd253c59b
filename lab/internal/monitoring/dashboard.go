package monitoring

import (
	"encoding/json"
	"fmt"
)

// dashboardUID is the dashboard's name in URLs. Links inside the dashboard need it.
const dashboardUID = "podlapse"

// kind is how a panel shows its queries.
type kind string

const (
	graph  kind = "timeseries"
	stack  kind = "stacked" // a graph with stacked lines
	number kind = "stat"
	table  kind = "table" // one row for each value of the label that the queries share, one column for each query
	text   kind = "text"
)

// query is one expression and the name of its series: a legend, or the column of a table.
type query struct{ expr, name string }

// panel describes one panel.
type panel struct {
	kind    kind
	title   string
	unit    string // Grafana's name of it
	width   int    // in columns, of 24
	about   string
	queries []query
	link    string // label whose value is selected by a click, if any
}

// section is a row of the dashboard.
type section struct {
	title  string
	panels []panel
}

// object is a JSON object.
type object map[string]any

const (
	panelHeight  = 8
	numberHeight = 4
)

// Dashboard returns the dashboard in Grafana's import format. Its file is manifests/monitoring/dashboard.json.
func Dashboard() ([]byte, error) {
	var panels []object
	y := 0
	for _, s := range sections {
		panels = append(panels, object{"type": "row", "title": s.title, "collapsed": false, "panels": []object{},
			"gridPos": object{"x": 0, "y": y, "w": 24, "h": 1}})
		y++
		x, height := 0, 0
		for _, p := range s.panels {
			if x+p.width > 24 {
				x, y = 0, y+height
			}
			height = panelHeight
			if p.kind == number {
				height = numberHeight
			}
			panels = append(panels, p.object(x, y, height))
			x += p.width
		}
		y += height
	}
	for i := range panels {
		panels[i]["id"] = i + 1
	}
	encoded, err := json.MarshalIndent(object{
		"uid": dashboardUID, "title": "podlapse", "tags": []string{"podlapse", "kubernetes"}, "schemaVersion": 41,
		"version":     1,
		"description": "Where the start-up time of pods goes and what causes it: fleet, node, registry, pod.",
		"editable":    true, "graphTooltip": 1, "refresh": "1m", "timezone": "browser",
		"time":       object{"from": "now-6h", "to": "now"},
		"templating": object{"list": variables()},
		"annotations": object{"list": []object{{
			"name": "Alerts", "enable": true, "iconColor": "red", "datasource": datasource,
			"titleFormat": "{{alertname}}",
			"expr":        `ALERTS{alertname=~"Podlapse.*", alertstate="firing"}`,
			"textFormat":  "{{node}} {{registry}} {{phase}}",
		}}},
		"panels": panels,
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode dashboard: %w", err)
	}
	return append(encoded, '\n'), nil
}

var datasource = object{"type": "prometheus", "uid": "${datasource}"}

func variables() []object {
	list := []object{{"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus"}}
	for _, v := range []struct{ name, metric string }{
		{"node", "podlapse_build_info"},
		{"registry", "podlapse_image_pull_bytes_total"},
		{"namespace", "podlapse_pod_startup_seconds"},
	} {
		values := fmt.Sprintf("label_values(%s, %s)", v.metric, v.name)
		list = append(list, object{
			"type": "query", "name": v.name, "label": v.name, "datasource": datasource, "definition": values,
			"query":   object{"query": values, "refId": v.name},
			"refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*",
			"current": object{"text": []string{"All"}, "value": []string{"$__all"}},
		})
	}
	return list
}

func (p panel) object(x, y, height int) object {
	defaults := object{"unit": p.unit, "custom": object{}}
	if p.link != "" {
		value := "${__field.labels." + p.link + "}"
		if p.kind == table {
			value = "${__data.fields." + p.link + "}"
		}
		defaults["links"] = []object{{
			"title": "Show " + p.link + " " + value,
			"url": fmt.Sprintf("/d/%s?var-%s=%s&${datasource:queryparam}&${__url_time_range}", dashboardUID, p.link,
				value),
		}}
	}
	o := object{
		"type": p.kind, "title": p.title, "description": p.about, "datasource": datasource,
		"gridPos":     object{"x": x, "y": y, "w": p.width, "h": height},
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}},
	}
	switch p.kind {
	case text:
		o["options"] = object{"mode": "markdown", "content": p.about}
		delete(o, "description")
		return o
	case stack:
		o["type"] = graph
		defaults["custom"] = object{"stacking": object{"mode": "normal"}, "fillOpacity": 60, "lineWidth": 0}
	case graph:
		defaults["custom"] = object{"showPoints": "never", "spanNulls": 300000}
	case number:
		o["options"] = object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "colorMode": "none"}
	case table:
		o["transformations"], o["options"] = p.columns()
	}
	if p.kind == graph || p.kind == stack {
		o["options"] = object{"tooltip": object{"mode": "multi", "sort": "desc"},
			"legend": object{"displayMode": "list", "placement": "bottom"}}
	}
	var targets []object
	for i, q := range p.queries {
		target := object{"refId": refID(i), "expr": q.expr, "datasource": datasource, "legendFormat": q.name}
		if p.kind == table {
			target["format"], target["instant"] = "table", true
			delete(target, "legendFormat")
		}
		targets = append(targets, target)
	}
	o["targets"] = targets
	return o
}

// columns merges the results of a table's queries into one table, names its columns, and sorts by the first.
func (p panel) columns() (transformations []object, options object) {
	names := object{}
	for i, q := range p.queries {
		names["Value #"+refID(i)] = q.name
	}
	if len(p.queries) == 1 {
		names = object{"Value": p.queries[0].name}
	}
	return []object{
			{"id": "merge", "options": object{}},
			{"id": "organize", "options": object{
				"excludeByName": object{"Time": true, "__name__": true, "job": true, "instance": true},
				"renameByName":  names,
			}},
		}, object{
			"sortBy": []object{{"displayName": p.queries[0].name, "desc": true}},
		}
}

func refID(i int) string { return string(rune('A' + i)) }
