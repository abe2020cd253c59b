package workload

import (
	"cmp"
	"slices"
)

// maxNodes is the maximum number of nodes in a summary.
const maxNodes = 20

// Images splits the measured start-ups by whether the pod had to pull an image.
type Images struct {
	Present *Durations `json:"present,omitempty"` // start-ups on nodes that had all images; nil without such start-ups
	Pulled  *Durations `json:"pulled,omitempty"`  // start-ups that pulled an image; nil without such start-ups
	Unknown int        `json:"unknown"`           // start-ups without evidence about an image
	// Difference compares Pulled with Present. Difference is nil if one of the groups is empty.
	Difference *Difference `json:"difference,omitempty"`
}

// Node contains the start-ups of one node.
type Node struct {
	Name      string    `json:"node"`
	Durations Durations `json:"durations"`
	Others    Durations `json:"others"` // start-ups on all other nodes
	// Difference compares this node with all other nodes.
	Difference Difference `json:"difference"`
}

func splitByImage(samples []*sample) Images {
	var images Images
	groups := map[imageState][]*sample{}
	for _, s := range samples {
		groups[s.image] = append(groups[s.image], s)
	}
	present, pulled := groups[imagePresent], groups[imagePulled]
	images.Unknown = len(groups[imageUnknown])
	if len(present) > 0 {
		images.Present = new(durationsOf(present))
	}
	if len(pulled) > 0 {
		images.Pulled = new(durationsOf(pulled))
	}
	if len(present) > 0 && len(pulled) > 0 {
		images.Difference = new(compare(present, pulled, 1))
	}
	return images
}

// splitByNode compares each node with the other nodes. splitByNode requires at least MinStartUps start-ups on the node,
// and also on the other nodes together. splitByNode corrects each rank test for the number of nodes with enough
// start-ups (Bonferroni's method), because one of many nodes can differ by chance.
func splitByNode(samples []*sample) []Node {
	on := map[string][]*sample{}
	for _, s := range samples {
		on[s.record.Node] = append(on[s.record.Node], s)
	}
	nodes := []Node{}
	for name, here := range on {
		if len(here) >= MinStartUps && len(samples)-len(here) >= MinStartUps {
			nodes = append(nodes, Node{Name: name, Durations: durationsOf(here)})
		}
	}
	slices.SortFunc(nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(b.Durations.Mean, a.Durations.Mean), cmp.Compare(a.Name, b.Name))
	})
	comparisons := len(nodes)
	nodes = nodes[:min(len(nodes), maxNodes)]
	for i := range nodes {
		name := nodes[i].Name
		elsewhere := slices.DeleteFunc(slices.Clone(samples), func(s *sample) bool { return s.record.Node == name })
		nodes[i].Others = durationsOf(elsewhere)
		nodes[i].Difference = compare(elsewhere, on[name], comparisons)
	}
	return nodes
}
