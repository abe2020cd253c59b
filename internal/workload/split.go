package workload

import (
	"cmp"
	"slices"

	"github.com/podlapse/podlapse/pkg/api"
)

// maxNodes is the maximum number of nodes in a summary.
const maxNodes = 20

// sameRevisions returns the two groups without the start-ups whose revision occurs in only one group. If sameRevisions
// kept these start-ups, a slow revision that runs only on some nodes would make these nodes look slow. If several
// revisions remain, sameRevisions keeps the same number of start-ups of each revision in both groups. With different
// numbers of start-ups, the group with more start-ups of a slow revision would look slow. If one group has more
// start-ups of a revision, sameRevisions drops the oldest of these start-ups. Both groups must be sorted, with the
// latest start-up first.
func sameRevisions(first, second []*sample) (a, b []*sample) {
	count := func(samples []*sample) map[string]int {
		counts := map[string]int{}
		for _, s := range samples {
			counts[s.record.Revision]++
		}
		return counts
	}
	inFirst, inSecond := count(first), count(second)
	common := map[string]int{}
	for revision, n := range inFirst {
		if also := inSecond[revision]; also > 0 {
			common[revision] = min(n, also)
		}
	}
	keep := func(samples []*sample) []*sample {
		kept := map[string]int{}
		return slices.DeleteFunc(slices.Clone(samples), func(s *sample) bool {
			most, both := common[s.record.Revision]
			kept[s.record.Revision]++
			return !both || len(common) > 1 && kept[s.record.Revision] > most
		})
	}
	return keep(first), keep(second)
}

func latestFirst(samples []*sample) []*sample {
	return slices.SortedFunc(slices.Values(samples), func(a, b *sample) int {
		return cmp.Or(b.record.CreatedAt.Compare(a.record.CreatedAt.Time), cmp.Compare(a.record.ID, b.record.ID))
	})
}

func splitByImage(samples []*sample, mixed bool) api.WorkloadImages {
	var images api.WorkloadImages
	groups := map[imageState][]*sample{}
	for _, s := range latestFirst(samples) {
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

// splitByNode compares each node with the other nodes. If the argument "mixed" is true, splitByNode ignores the
// revisions. If "mixed" is false, a comparison uses a revision only if it has start-ups on the compared node and on
// other nodes. Each comparison requires at least MinStartUps start-ups on the compared node, and at least MinStartUps
// start-ups on all other nodes together. If there are many nodes, one of them can differ by chance. Therefore,
// splitByNode corrects each rank test for the number of nodes with enough start-ups (Bonferroni's method).
func splitByNode(samples []*sample, mixed bool) []api.WorkloadNode {
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
	samples = latestFirst(samples)
	count := map[string]int{}
	for _, s := range samples {
		count[s.record.Node]++
	}
	nodes := []api.WorkloadNode{}
	for name, n := range count {
		if n < MinStartUps {
			continue
		}
		if here, elsewhere := split(name); len(here) >= MinStartUps && len(elsewhere) >= MinStartUps {
			nodes = append(nodes, api.WorkloadNode{Name: name, Durations: durationsOf(here)})
		}
	}
	slices.SortFunc(nodes, func(a, b api.WorkloadNode) int {
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
