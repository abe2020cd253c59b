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
	// Difference compares Pulled with Present. Difference is nil if one of the groups is empty. If the workload has
	// revisions with start-ups in both groups, Present, Pulled and Difference contain only these revisions. If each
	// revision has start-ups in only one group, Difference is nil.
	Difference *Difference `json:"difference,omitempty"`
}

// Node contains the start-ups of one node.
type Node struct {
	Name      string    `json:"node"`
	Durations Durations `json:"durations"`
	Others    Durations `json:"others"` // start-ups of the same revisions on all other nodes
	// Difference compares this node with all other nodes.
	Difference Difference `json:"difference"`
}

// sameRevisions removes the start-ups of revisions that occur in only one of two groups. Without this step, a slow
// revision that runs only on some nodes would make these nodes look slow.
func sameRevisions(first, second []*sample) (a, b []*sample) {
	revisions := func(samples []*sample) map[string]bool {
		found := map[string]bool{}
		for _, s := range samples {
			found[s.record.Revision] = true
		}
		return found
	}
	keep := func(samples []*sample, also map[string]bool) []*sample {
		return slices.DeleteFunc(slices.Clone(samples), func(s *sample) bool { return !also[s.record.Revision] })
	}
	return keep(first, revisions(second)), keep(second, revisions(first))
}

func splitByImage(samples []*sample, mixed bool) Images {
	var images Images
	groups := map[imageState][]*sample{}
	for _, s := range samples {
		groups[s.image] = append(groups[s.image], s)
	}
	present, pulled := groups[imagePresent], groups[imagePulled]
	images.Unknown = len(groups[imageUnknown])
	both := len(present) > 0 && len(pulled) > 0
	if both && !mixed {
		a, b := sameRevisions(present, pulled)
		if both = len(a) > 0; both {
			present, pulled = a, b
		}
	}
	if len(present) > 0 {
		images.Present = new(durationsOf(present))
	}
	if len(pulled) > 0 {
		images.Pulled = new(durationsOf(pulled))
	}
	if both {
		images.Difference = new(compare(present, pulled, 1))
	}
	return images
}

// splitByNode compares each node with the other nodes. If the argument "mixed" is false, splitByNode uses only
// revisions that have start-ups both on the node and on other nodes. splitByNode requires at least MinStartUps
// start-ups on the node, and also on the other nodes together. splitByNode corrects each rank test for the number of
// nodes with enough start-ups (Bonferroni's method), because one of many nodes can differ by chance.
func splitByNode(samples []*sample, mixed bool) []Node {
	split := func(name string) (here, elsewhere []*sample) {
		for _, s := range samples {
			if s.record.Node == name {
				here = append(here, s)
			} else {
				elsewhere = append(elsewhere, s)
			}
		}
		if mixed {
			return here, elsewhere
		}
		return sameRevisions(here, elsewhere)
	}
	count := map[string]int{}
	for _, s := range samples {
		count[s.record.Node]++
	}
	nodes := []Node{}
	for name, n := range count {
		if n < MinStartUps {
			continue
		}
		if here, elsewhere := split(name); len(here) >= MinStartUps && len(elsewhere) >= MinStartUps {
			nodes = append(nodes, Node{Name: name, Durations: durationsOf(here)})
		}
	}
	slices.SortFunc(nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(b.Durations.Mean, a.Durations.Mean), cmp.Compare(a.Name, b.Name))
	})
	comparisons := len(nodes)
	nodes = nodes[:min(len(nodes), maxNodes)]
	for i := range nodes {
		here, elsewhere := split(nodes[i].Name)
		nodes[i].Others = durationsOf(elsewhere)
		nodes[i].Difference = compare(elsewhere, here, comparisons)
	}
	return nodes
}
