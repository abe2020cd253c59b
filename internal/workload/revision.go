package workload

import (
	"cmp"
	"maps"
	"slices"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Revision contains the start-ups of one revision of the workload.
type Revision struct {
	// Name is the revision of the records: the pod-template-hash or the controller-revision-hash.
	Name   string `json:"revision"`
	Number int64  `json:"number,omitempty"` // number in the history of the workload; 0 if unknown
	// LatestAt is the creation time of the latest pod, even if the pod's start-up is not measured.
	LatestAt  api.Instant `json:"latest_at"`
	Durations *Durations  `json:"durations,omitempty"` // nil if there are no measured start-ups
	// Pulled is the number of measured start-ups in which the pod had to pull an image. PulledOf is the number of
	// measured start-ups with evidence about their images.
	Pulled   int `json:"pulled"`
	PulledOf int `json:"pulled_of"`
	// ImageBytes is the total size of all images of a pod. ImageBytes is 0 if the total size is unknown, or if it
	// differs by more than 1 % between pods.
	ImageBytes int64 `json:"image_bytes,omitempty"`
	// Containers contains the names of the containers that ImageBytes includes.
	Containers []string `json:"-"`
}

// Comparison compares two revisions.
type Comparison struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Difference compares the revision in the field To with the revision in the field From.
	Difference Difference `json:"difference"`
}

// revisionsOf returns the revisions of a workload, the latest first. The function ignores records without a revision.
func revisionsOf(all []*api.Record, samples []*sample, numbers map[string]int64) []Revision {
	known := map[string]*Revision{}
	for _, record := range all {
		if record.Revision == "" {
			continue
		}
		if known[record.Revision] == nil {
			known[record.Revision] = &Revision{Name: record.Revision, Number: numbers[record.Revision]}
		}
		known[record.Revision].LatestAt = record.CreatedAt // the records are ordered by creation
	}
	groups := map[string][]*sample{}
	for _, s := range samples {
		groups[s.record.Revision] = append(groups[s.record.Revision], s)
	}
	revisions := make([]Revision, 0, len(known))
	for name, r := range known {
		of := groups[name]
		if len(of) > 0 {
			r.Durations = new(durationsOf(of))
		}
		for _, s := range of {
			if s.image != imageUnknown {
				r.PulledOf++
			}
			if s.image == imagePulled {
				r.Pulled++
			}
		}
		r.ImageBytes, r.Containers = imageSize(of)
		revisions = append(revisions, *r)
	}
	slices.SortFunc(revisions, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), b.LatestAt.Compare(a.LatestAt.Time), cmp.Compare(a.Name, b.Name))
	})
	return revisions
}

func ofRevision(samples []*sample, name string) []*sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s *sample) bool { return s.record.Revision != name })
}

// compareRevisions compares the two chosen revisions. If no revisions are chosen, the function compares the latest two
// revisions, or returns nil if there are fewer than two revisions.
func compareRevisions(revisions []Revision, samples []*sample, chosen []string) *Comparison {
	if len(chosen) != 2 {
		if len(revisions) < 2 {
			return nil
		}
		chosen = []string{revisions[1].Name, revisions[0].Name}
	}
	from, to := chosen[0], chosen[1]
	return &Comparison{From: from, To: to,
		Difference: compare(ofRevision(samples, from), ofRevision(samples, to), 1)}
}

// imageSize adds up the image sizes of each pod, and returns the largest sum and the containers that use the images.
// The result is 0 if a size is unknown, if the pods have different containers, or if the sums differ by more than 1 %.
// For example, the sums can differ because the nodes have different architectures.
func imageSize(samples []*sample) (int64, []string) {
	var least, most int64
	var containers []string
	for i, s := range samples {
		size, names := imageSizeOf(s.record.Pulls)
		if i == 0 {
			least, most, containers = size, size, names
		}
		if least, most = min(least, size), max(most, size); least <= 0 || !slices.Equal(names, containers) {
			return 0, nil
		}
	}
	if most-least > most/100 {
		return 0, nil
	}
	return most, containers
}

// imageSizeOf adds up the sizes of a pod's images. An image that several containers use counts once, and repeated
// attempts count once.
func imageSizeOf(pulls []api.PullRecord) (int64, []string) {
	sizes := map[string]int64{}
	containers := map[string]string{}
	for _, pull := range pulls {
		if pull.Kind == timeline.KindEphemeral || pull.Outcome == imagepull.OutcomeFailed {
			continue
		}
		image := cmp.Or(pull.Digest, pull.Image)
		containers[pull.Container] = image
		sizes[image] = max(sizes[image], pull.SizeBytes)
	}
	total, counted := int64(0), map[string]bool{}
	for _, image := range containers {
		if sizes[image] <= 0 {
			return 0, nil
		}
		if !counted[image] {
			total, counted[image] = total+sizes[image], true
		}
	}
	return total, slices.Sorted(maps.Keys(containers))
}
