package monitoring

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// dashboardUID identifies the dashboard in URLs. The links inside the dashboard contain this UID.
const dashboardUID = "podlapse"

// kind is the type of a panel.
type kind string

const (
	graph  kind = "timeseries"
	stack  kind = "stacked" // a graph with stacked lines
	number kind = "stat"
	table  kind = "table" // one row for each set of label values, one column for each query
	text   kind = "text"
)

// query is one PromQL expression. The name is the legend in a graph, or the title of the column in a table. In a table,
// the unit is the unit of the column. Other panels ignore the unit of a query.
type query struct{ expr, name, unit string }

// panel describes one panel of the dashboard.
type panel struct {
	kind    kind
	title   string
	unit    string // Grafana's name of the unit; a table ignores it, because each query has its own unit
	width   int    // width in columns of Grafana's grid; the grid has 24 columns
	about   string
	queries []query
	link    string // a click selects this label's value in the dashboard; empty if the panel has no links
}

// section is a row of the dashboard.
type section struct {
	title  string
	panels []panel
	// If collapsed is true, Grafana hides the panels and does not run the queries until a click opens the row.
	collapsed bool
}

// object is a JSON object.
type object map[string]any

const (
	panelHeight  = 8
	numberHeight = 4
)

// Dashboard returns the dashboard in the format that Grafana imports. A test compares the dashboard with the file
// manifests/monitoring/dashboard.json.
func Dashboard() ([]byte, error) {
	var panels []object
	y := 0
	clustered, err := inCluster(sections)
	if err != nil {
		return nil, fmt.Errorf("add a matcher for the label \"cluster\" to the dashboard's expressions: %w", err)
	}
	var all []object // includes the panels inside collapsed rows
	for _, s := range clustered {
		row := object{"type": "row", "title": s.title, "collapsed": s.collapsed, "panels": []object{},
			"gridPos": object{"x": 0, "y": y, "w": 24, "h": 1}}
		inside, height := s.panelObjects(y + 1)
		panels, all = append(panels, row), slices.Concat(all, []object{row}, inside)
		y++
		if s.collapsed {
			row["panels"] = inside
			continue
		}
		panels = append(panels, inside...)
		y += height
	}
	for i, p := range all {
		p["id"] = i + 1
	}
	encoded, err := json.MarshalIndent(object{
		"uid": dashboardUID, "title": "podlapse", "tags": []string{"podlapse", "kubernetes"}, "schemaVersion": 41,
		"version":     2,
		"description": "Phases and causes of the start-up time of pods, for the fleet, nodes, registries and pods.",
		"editable":    true, "graphTooltip": 1, "refresh": "1m", "timezone": "browser",
		"time":       object{"from": "now-6h", "to": "now"},
		"templating": object{"list": variables()},
		"annotations": object{"list": []object{{
			"name": "Alerts", "enable": true, "iconColor": "red", "datasource": datasource,
			"titleFormat": "{{alertname}}",
			"expr":        `ALERTS{alertname=~"Podlapse.*", alertstate="firing"}`,
			"textFormat":  "{{cluster}} {{namespace}} {{node}} {{registry}} {{phase}}",
		}}},
		"panels": panels,
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode dashboard: %w", err)
	}
	return append(encoded, '\n'), nil
}

// panelObjects returns the panels of a row and their total height. The argument y is the vertical position of the first
// panel in Grafana's grid.
func (s section) panelObjects(y int) (panels []object, height int) {
	x, top, line := 0, y, 0
	for _, p := range s.panels {
		if x+p.width > 24 {
			x, y = 0, y+line
		}
		line = panelHeight
		if p.kind == number {
			line = numberHeight
		}
		panels = append(panels, p.object(x, y, line))
		x += p.width
	}
	return panels, y + line - top
}

// inCluster adds the matcher cluster=~"$cluster" to the selectors in the expressions of all sections. If the dashboard
// variable "cluster" is "All", the matcher also matches series without the label "cluster". inCluster does not change
// the selectors of metrics such as podlapse:phase_stuck:seconds. These metrics are constants from recording rules, and
// they do not have the label "cluster".
func inCluster(all []section) ([]section, error) {
	var clustered []section
	for _, s := range all {
		s.panels = slices.Clone(s.panels)
		for i := range s.panels {
			p := &s.panels[i]
			p.queries = slices.Clone(p.queries)
			for k := range p.queries {
				expression, err := parser.ParseExpr(withoutVariables(p.queries[k].expr))
				if err != nil {
					return nil, fmt.Errorf("row %q, panel %q: %w", s.title, p.title, err)
				}
				parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
					selector, ok := node.(*parser.VectorSelector)
					if ok && !strings.HasPrefix(selector.Name, "podlapse:") {
						selector.LabelMatchers = append(selector.LabelMatchers,
							labels.MustNewMatcher(labels.MatchRegexp, "cluster", "$cluster"))
					}
					return nil
				})
				p.queries[k].expr = withVariables(expression.String())
			}
		}
		clustered = append(clustered, s)
	}
	return clustered, nil
}

// RowQueries returns the PromQL expressions in one row of the dashboard. The keys of the map are the titles of the
// panels. In the expressions, RowQueries replaces each dashboard variable with its initial value. The initial values
// select all clusters, nodes, registries and namespaces.
func RowQueries(row string) (map[string][]string, error) {
	clustered, err := inCluster(sections)
	if err != nil {
		return nil, fmt.Errorf("add a matcher for the label \"cluster\" to the dashboard's expressions: %w", err)
	}
	i := slices.IndexFunc(clustered, func(s section) bool { return s.title == row })
	if i < 0 {
		return nil, fmt.Errorf("the dashboard has no row %q", row)
	}
	initial := strings.NewReplacer("$cluster", ".*", "$node", ".*", "$registry", ".*", "$namespace", ".*",
		"$top", "10", "$__range", "6h")
	queries := map[string][]string{}
	for _, p := range clustered[i].panels {
		for _, q := range p.queries {
			queries[p.title] = append(queries[p.title], initial.Replace(q.expr))
		}
	}
	return queries, nil
}

// These constants are placeholders for the variables $top and $__range of Grafana. $top stands for a number, and
// $__range stands for a duration. The PromQL parser does not accept the variables, so it reads the placeholders
// instead.
const (
	topPlace   = "98765" // must be below a million, because PromQL prints larger numbers in scientific notation
	rangePlace = "20m34s567ms"
)

func withoutVariables(expr string) string {
	return strings.NewReplacer("$top", topPlace, "$__range", rangePlace).Replace(expr)
}

func withVariables(expr string) string {
	return strings.NewReplacer(topPlace, "$top", rangePlace, "$__range").Replace(expr)
}

var datasource = object{"type": "prometheus", "uid": "${datasource}"}

func variables() []object {
	list := []object{{"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus"}}
	for _, v := range []struct{ name, metric string }{
		{"cluster", "podlapse_build_info"},
		{"node", `podlapse_build_info{cluster=~"$cluster"}`},
		{"registry", `podlapse_image_pull_bytes_total{cluster=~"$cluster"}`},
		{"namespace", `podlapse_pod_startup_seconds{cluster=~"$cluster"}`},
	} {
		values := fmt.Sprintf("label_values(%s, %s)", v.metric, v.name)
		list = append(list, object{
			"type": "query", "name": v.name, "label": v.name, "datasource": datasource, "definition": values,
			"query":   object{"query": values, "refId": v.name},
			"refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*",
			"current": object{"text": []string{"All"}, "value": []string{"$__all"}},
		})
	}
	return append(list, object{
		"type": "custom", "name": "top", "label": "lines per panel", "query": "10,25,50,500",
		"current": object{"text": "10", "value": "10"},
		"options": []object{{"text": "10", "value": "10", "selected": true}, {"text": "25", "value": "25"},
			{"text": "50", "value": "50"}, {"text": "500", "value": "500"}},
	})
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
	overrides := []object{}
	if p.kind == table {
		overrides = p.columnUnits()
		delete(defaults, "unit")
	}
	o := object{
		"type": p.kind, "title": p.title, "description": p.about, "datasource": datasource,
		"gridPos":     object{"x": x, "y": y, "w": p.width, "h": height},
		"fieldConfig": object{"defaults": defaults, "overrides": overrides},
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

// columns returns the transformations and the options of a table. The transformations merge the results of all queries
// and name the columns. The options sort the rows by the first column.
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

// columnUnits returns Grafana's field overrides for a table. The overrides set the unit and the number of decimal
// places of each column.
func (p panel) columnUnits() []object {
	units := []object{}
	for _, q := range p.queries {
		units = append(units, object{
			"matcher": object{"id": "byName", "options": q.name},
			"properties": []object{{"id": "unit", "value": q.unit},
				{"id": "decimals", "value": decimals(q.unit)}},
		})
	}
	return units
}

// decimals returns the number of decimal places for values with this unit.
func decimals(unit string) int {
	if unit == "none" || unit == "percentunit" {
		return 0
	}
	return 1
}

func refID(i int) string { return string(rune('A' + i)) }
