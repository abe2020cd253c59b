package timeline

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// blockerOf is the image for which all waiting pulls in these spans waited the longest; empty if it is not the same for
// all, or is unknown for one.
func (t Timeline) blockerOf(spans []Span) (image string) {
	for _, s := range spans {
		if s.Duration() < leastBlocked {
			continue
		}
		blocker := t.blockerOfContainer(s.Container)
		if blocker == "" || image != "" && blocker != image {
			return ""
		}
		image = blocker
	}
	return image
}

// blockerOfContainer is the image that a container's pull waited for the longest; empty if unknown.
func (t Timeline) blockerOfContainer(container string) (image string) {
	var longest time.Duration
	for _, p := range t.Pulls {
		if p.Container == container && p.BlockedBy != nil && p.BlockedBy.Waited > longest {
			image, longest = p.BlockedBy.Image, p.BlockedBy.Waited
		}
	}
	return image
}

// aheadOf is the number of pulls ahead of those in spans in the node's queue; 0 if more than one pull waited.
func (t Timeline) aheadOf(spans []Span) (ahead int) {
	waiting := 0
	for _, s := range spans {
		if s.Duration() < leastBlocked {
			continue
		}
		waiting++
		for _, p := range t.Pulls {
			if s.pulls(p) {
				ahead = p.Ahead
			}
		}
	}
	if waiting > 1 {
		return 0
	}
	return ahead
}

// imagesOf counts the images that were pulled in spans.
func (t Timeline) imagesOf(spans []Span) int {
	var images []string
	for _, s := range spans {
		image := s.Container
		if i := slices.IndexFunc(t.Pulls, func(p Pull) bool { return p.Container == s.Container }); i >= 0 {
			image = t.Pulls[i].Image
		}
		if !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	return len(images)
}

// rateOf is the download rate of the images in spans, as text; empty if it is unknown or meaningless. A pod pulls
// one image after the other, so the times of its pulls add up.
func (t Timeline) rateOf(spans []Span) string {
	const least = 100 * time.Millisecond
	var bytes int64
	var took time.Duration
	for _, s := range spans {
		i := slices.IndexFunc(t.Pulls, s.pulls)
		switch {
		case s.Duration() == 0:
		case i >= 0 && t.Pulls[i].Outcome == imagepull.OutcomeVerified && t.Pulls[i].Timed:
			took += t.Pulls[i].Pull // nothing was downloaded
		case i >= 0 && t.Pulls[i].rated():
			bytes += t.Pulls[i].Bytes()
			took += t.Pulls[i].DownloadedAt.Sub(t.Pulls[i].StartedAt)
		default:
			return ""
		}
	}
	if took < least || bytes == 0 {
		return ""
	}
	return fmt.Sprintf(" at %.1f MiB/s", float64(bytes)/(1<<20)/took.Seconds())
}

// concurrencyOf is the number of other pulls that shared the node's link with those in spans, as text; empty if none
// is known.
func (t Timeline) concurrencyOf(spans []Span) string {
	least, most := math.MaxInt, 0
	for _, s := range spans {
		beside := 0
		for _, p := range t.Pulls {
			if s.pulls(p) {
				beside = p.Beside
			}
		}
		least, most = min(least, beside), max(most, beside)
	}
	switch {
	case most == 0:
		return ""
	case least < most:
		return fmt.Sprintf(" beside up to %d other pulls", most)
	case most == 1:
		return " beside 1 other pull"
	}
	return fmt.Sprintf(" beside %d other pulls", most)
}

// lazilyOf says, as text, that content of the images in spans may arrive after the pulls; empty if no image is lazy.
func (t Timeline) lazilyOf(spans []Span) string {
	lazy := 0
	for _, s := range spans {
		if slices.ContainsFunc(t.Pulls, func(p Pull) bool { return p.Lazy && s.pulls(p) }) {
			lazy++
		}
	}
	switch lazy {
	case 0:
		return ""
	case len(spans):
		return " (lazily: content may still load while the container runs)"
	}
	return " (some lazily: content may still load while the containers run)"
}

// Rate is the pull's download rate in bytes per second, from StartedAt until DownloadedAt. It is 0 unless all bytes
// are known to have arrived in that time and to count at this pull.
func (p Pull) Rate() float64 {
	if !p.rated() {
		return 0
	}
	return float64(p.Bytes()) / p.DownloadedAt.Sub(p.StartedAt).Seconds()
}

// pulls reports whether a span is about a pull.
func (s Span) pulls(p Pull) bool { return p.Container == s.Container && p.Attempt == s.Attempt }

// rated reports whether all bytes of a pull are known to have arrived between StartedAt and DownloadedAt.
func (p Pull) rated() bool {
	dated := !p.StartedAt.IsZero() && p.DownloadedAt.After(p.StartedAt)
	own := !p.early && !p.Resumed && !p.Lazy && p.Credentials <= durationSlack && !slices.Contains(p.Shared, true)
	return dated && own && p.Bytes() > 0
}

// registryOf is where a container's image came from. The reference names the registry's host. The runtime may have
// asked a mirror or a pull-through cache instead, and does not say.
func (t Timeline) registryOf(container string) string {
	registry := "its registry"
	for _, p := range t.Pulls {
		if p.Container == container {
			registry = p.Registry
			break
		}
	}
	return registry + " or its mirror"
}
