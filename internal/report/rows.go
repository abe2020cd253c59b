package report

import (
	"maps"
	"slices"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/pkg/api"
)

func (f *Fleet) nodeSection(most int) Section {
	var rows []Row
	var without withoutFactor
	nodes := f.factors.Nodes()
	for _, n := range nodes {
		if n.Factor == nil {
			without.add(n.Node, n.Why)
			continue
		}
		inAll := func(lost api.Seconds) api.Seconds {
			return fromSeconds(lost.Duration().Seconds() * float64(n.StartUps))
		}
		if n.Lost <= 0 || inAll(n.Lost).Duration() < leastLost {
			continue
		}
		row := Row{Name: n.Node, Factor: n.Factor, Lost: inAll(n.Lost), StartUps: n.StartUps}
		if len(n.LostIn) > 0 {
			row.Most = n.LostIn[0].Work
			// A node can lose time in one kind of work and gain time in other work. So the loss in one kind of work
			// can exceed row.Lost.
			row.MostLost = min(row.Lost, inAll(n.LostIn[0].Lost))
		}
		row.Sentence = nodeSentence(row)
		rows = append(rows, row)
	}
	return without.note(newSection(rows, most, "no node is slower than the other nodes"), len(nodes)-without.count,
		"node has no factor", "nodes have no factor")
}

func (f *Fleet) registrySection(most int) Section {
	var rows []Row
	var without withoutFactor
	registries := f.factors.Registries()
	for _, r := range registries {
		if r.Factor == nil {
			without.add(r.Registry, r.Why)
		}
		if (r.Factor == nil || r.Lost < leastLost) && r.Failures == 0 {
			continue
		}
		rows = append(rows, registryRow(r))
	}
	return without.note(newSection(rows, most, "no registry is slower per byte than the other registries"),
		len(registries)-without.count, "registry has no factor", "registries have no factor")
}

func registryRow(r factor.Registry) Row {
	row := Row{Name: r.Registry, Factor: r.Factor, Lost: api.Seconds(max(r.Lost, 0)), Pulls: r.Pulls,
		Failures: r.Failures, InProgress: r.InProgress, Bytes: r.Bytes}
	row.Sentence = registrySentence(row)
	return row
}

func (f *Fleet) imageRows() []Row {
	var rows []Row
	for _, name := range slices.Sorted(maps.Keys(f.images)) {
		image := f.images[name]
		others := f.pulls.Pulls - image.Pulls
		row := Row{Name: name, Seconds: image.Length, Pulls: image.Pulls, Bytes: image.Bytes, Failures: image.Failures,
			InProgress: image.InProgress}
		if image.Pulls > 0 && others >= leastOthers {
			expected := float64(image.Pulls) * (f.pulls.Length - image.Length).Duration().Seconds() / float64(others)
			row.setComparison(image.Length.Duration().Seconds(), expected)
		}
		if image.other || row.Lost.Duration() < leastLost && image.Failures == 0 {
			continue
		}
		row.Sentence = imageSentence(row, image.PullTotals, f.pulls)
		rows = append(rows, row)
	}
	return rows
}

func (f *Fleet) imageNote() string {
	compared := func(i *imageSum) bool { return i.Pulls > 0 && f.pulls.Pulls-i.Pulls >= leastOthers }
	if len(f.images) > 1 && !slices.ContainsFunc(slices.Collect(maps.Values(f.images)), compared) {
		return "too few pulls for a comparison"
	}
	return noteOf(len(f.images) < 2, "a single image has no other images to compare with",
		"no image takes more time per pull than the other images")
}

// setComparison sets the factor and the lost time of a row. If the observed time is shorter than the expected
// time, the lost time is 0.
func (r *Row) setComparison(observed, expected float64) {
	if expected > 0 {
		r.Factor = new(observed / expected)
	}
	r.Lost = fromSeconds(max(observed-expected, 0))
}
