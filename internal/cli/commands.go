package cli

import (
	"slices"

	"github.com/podlapse/podlapse/internal/flags"
)

// Headings of the groups of commands in the help.
const (
	groupStartUps = "Find the cause of slow start-ups"
	groupFleet    = "Inspect nodes and registries"
	groupOffline  = "Read a recording"
)

// QueryCommands returns the commands that query agents.
func QueryCommands() []Command {
	return slices.Concat(startUpCommands(), fleetCommands())
}

func startUpCommands() []Command {
	return []Command{
		{
			Name: "explain", Group: groupStartUps, Run: runExplain, Arguments: suggestResources,
			Summary: "show where the start-up time of existing and deleted pods went",
			Usage:   "[POD... | TYPE/NAME... | TYPE NAME...] [flags]",
			Description: "Shows the verdict, the phases, the pulls and the missing evidence of a start-up.\n" +
				"TYPE is one of " + knownTypes + ".\nFor one workload, explain summarizes the start-ups, compares " +
				"nodes and revisions, and then shows the slowest start-up.\nFor a node or several workloads, " +
				"explain lists the pods, and then shows the slowest start-up.\nWithout an argument, explain lists " +
				"all pods.",
			Examples: []Example{
				{"Show where the start-up time of a pod went", "explain web-0 -n shop"},
				{"Show why the pods of a Deployment start slowly, and what its latest revision " +
					"changed", "explain deploy/web -n shop"},
				{"Compare two revisions of a Deployment", "explain deploy/web -n shop --revision 41,42"},
				{"List the start-ups of a Deployment in the past hour", "explain deploy/web -n shop --since 1h " +
					"-o wide"},
				{"List the pods of a node, the slowest first", "explain node/worker-1 --sort-by duration"},
				{"List the pods with a label in all namespaces", "explain -A -l app=web"},
				{"Print the record of a pod as JSON", "explain pod/web-0 -n shop -o json"},
			},
			Flags: func() flags.Table { return new(explainConfig).table() },
		},
		{
			Name: "top", Group: groupStartUps, Run: runTop,
			Summary: "show starting pods with their current phase, and pods that started recently",
			Usage:   "[flags]",
			Description: "On a terminal, top updates the screen until you press q or Ctrl-C. Elsewhere, top prints " +
				"one table and exits.",
			Examples: []Example{
				{"Watch the start-ups of all nodes", "top"},
				{"Watch the pods of one namespace with a label", "top -n shop -l app=web"},
				{"Print one table, the pods with the longest time in their phase first", "top --once --sort-by for"},
				{"Print a row whenever a start-up changes, without a full-screen display", "top -w | cat"},
			},
			Flags: func() flags.Table { return new(topConfig).table() },
		},
		{
			Name: "pulls", Group: groupStartUps, Run: runPulls, Similar: []string{"pull"},
			Summary: "list image pulls in progress and completed image pulls",
			Usage:   "[flags]",
			Description: "Lists the pulls in progress (the longest first), and then the completed pulls (the latest " +
				"first).",
			Examples: []Example{
				{"List the pulls of all nodes", "pulls"},
				{"List the pulls of one node, the slowest first", "pulls --node worker-1 --sort-by duration"},
				{"Print a row whenever a pull of a namespace changes", "pulls -n shop -w"},
			},
			Flags: func() flags.Table { return new(pullsConfig).table() },
		},
	}
}

func fleetCommands() []Command {
	return append(nodeCommands(), []Command{
		{
			Name: "registries", Group: groupFleet, Run: runRegistries, Similar: []string{"registry"},
			Summary: "list the registries with their registry factor, pulls, failures and durations",
			Usage:   "[flags]",
			Description: "The registry factor is the time of a registry's pulls in the past hour, divided by the " +
				"expected time for the same\nbytes. A factor of 1 is normal.",
			Examples: []Example{
				{"List the registries, the slowest first", "registries --sort-by factor"},
				{"Print the registries as JSON", "registries -o json"},
			},
			Flags: func() flags.Table { return new(registriesConfig).table() },
		},
		{
			Name: "report", Group: groupFleet, Run: runReport, Similar: []string{"reports"},
			Summary: "show which nodes, registries, images and workloads lose the most start-up time",
			Usage:   "[flags]",
			Description: "Lost time is the observed time minus the time that other nodes, registries, images or " +
				"workloads need for the same\nwork. The report covers the past 24 hours. Without --prometheus, the " +
				"report queries the agents.",
			Examples: []Example{
				{"Show what cost the most start-up time in the past day", "report"},
				{"Show the past two hours, with up to 20 rows in each section", "report --since 2h --rows 20"},
				{"Write one HTML file for a ticket", "report -o html > report.html"},
				{"Query Prometheus instead of the agents, for the past week",
					"report --prometheus http://127.0.0.1:9090 --since 7d"},
			},
			Flags: func() flags.Table { return new(reportConfig).table() },
		},
		{
			Name: "page", Group: groupFleet, Run: runPage,
			Arguments: suggestNodeNames(func() (flags.Table, *target) {
				c := new(pageConfig)
				return c.table(), &c.target
			}),
			Summary: "open a port-forward to the page of a node's agent, and print its URL",
			Usage:   "NODE [flags]",
			Description: "Forwards a local port to the agent of the node, prints the URL of the agent's page, and " +
				"runs until you press Ctrl-C.",
			Examples: []Example{
				{"Open the page of a node", "page worker-1"},
				{"Use a fixed local port", "page worker-1 --port 9717"},
			},
			Flags: func() flags.Table { return new(pageConfig).table() },
		},
	}...)
}

func nodeCommands() []Command {
	return []Command{
		{
			Name: "nodes", Group: groupFleet, Run: runNodes,
			Arguments: suggestNodeNames(func() (flags.Table, *target) {
				c := new(nodesConfig)
				return c.table(), &c.target
			}),
			Summary: "list the nodes with their node factor, starting pods and the quality of their evidence",
			Usage:   "[NODE] [flags]",
			Description: "The node factor is the time of a node's start-up work in the past hour, divided by the " +
				"time of the same work on the\nother nodes. A factor of 1 is normal.\nWith --server, the command " +
				"lists the node of the agent at the URL, and accepts no NODE.",
			Examples: []Example{
				{"List the nodes, the slowest first", "nodes --sort-by factor"},
				{"Show one node, with its factor against all other nodes", "nodes worker-1"},
				{"Also show the number of start-ups, and the lost time for each start-up", "nodes -o wide"},
			},
			Flags: func() flags.Table { return new(nodesConfig).table() },
		},
		{
			Name: "node", Group: groupFleet, Run: runNode,
			Arguments: suggestNodeNames(func() (flags.Table, *target) {
				c := new(nodeConfig)
				return c.table(), &c.target
			}),
			Summary: "show the start-up of one node, from its boot until the first workload pod was ready",
			Usage:   "NODE [flags] | --server=URL [flags]",
			Description: "Shows the verdict, the phases with their causes, the start-up taints, and the start-ups of " +
				"the DaemonSets' pods.\nThe agent of the node must run with --node-startup.\nWith --server, the " +
				"command shows the node of the agent at the URL, and accepts no NODE.",
			Examples: []Example{
				{"Show where the start-up time of a node went", "node worker-1"},
				{"Print the record as JSON", "node worker-1 -o json"},
			},
			Flags: func() flags.Table { return new(nodeConfig).table() },
		},
	}
}
