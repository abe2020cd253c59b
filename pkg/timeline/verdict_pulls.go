package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// describeQueue describes, as text, why the pulls in the given spans waited in the node's pull queue. The text is
// empty if the evidence names no other pull. If several pulls were ahead, the text does not blame a single pull for the
// whole wait. If the other pull was of the same image, the text also names the registry, because the pod would wait for
// this download even without the queue.
func (t Timeline) describeQueue(spans []Span) string {
	by := t.blockerOf(spans)
	ahead := t.aheadOf(spans)
	var wait time.Duration
	for _, s := range spans {
		wait += s.Duration()
	}
	if by.image != "" && wait-by.waited < max(leastBlocked, wait/10) {
		if by.same {
			return "waiting for an image that another pod was already pulling" + by.registryWords()
		}
		return "queued behind " + by.image + " on this node"
	}
	text := ""
	if ahead > 1 {
		text = fmt.Sprintf("queued behind %d pulls on this node", ahead)
	}
	if by.image != "" {
		what := by.image
		if by.same {
			what = "another pod's pull of the same image" + by.registryWords()
		}
		text = cmp.Or(text, "queued on this node") + fmt.Sprintf(" (%s behind %s)", seconds(by.waited), what)
	}
	return text
}

// queueDelay summarizes the field Pull.BlockedBy of all pulls that waited in the given spans.
type queueDelay struct {
	image    string        // the image whose pulls caused the delay; empty if it is unknown or if there are several
	waited   time.Duration // sum of Pull.BlockedBy.Waited
	same     bool          // each waiting pull needed the same image as the pull that delayed it
	registry string        // the registry of the image as text, if "same" is true
}

// registryWords returns a text of the form " from REGISTRY", or an empty text if the registry is unknown.
func (q queueDelay) registryWords() string {
	if q.registry == "" {
		return ""
	}
	return " from " + q.registry
}

// blockerOf summarizes the field Pull.BlockedBy of all pulls that waited in the given spans.
func (t Timeline) blockerOf(spans []Span) queueDelay {
	by := queueDelay{same: true}
	for _, s := range spans {
		if s.Duration() < leastBlocked {
			continue
		}
		p := t.pullOf(s)
		if p == nil || p.BlockedBy == nil || by.image != "" && p.BlockedBy.Image != by.image {
			return queueDelay{}
		}
		by.image = p.BlockedBy.Image
		by.waited += p.BlockedBy.Waited
		by.same = by.same && normalizedName(by.image) == normalizedName(p.Image)
		by.registry = t.registryOf(s)
	}
	return by
}

// aheadOf returns the number of pulls that were ahead of the waiting pull in the node's queue. aheadOf returns 0 if
// more than one pull in the given spans waited.
func (t Timeline) aheadOf(spans []Span) (ahead int) {
	waiting := 0
	for _, s := range spans {
		if s.Duration() < leastBlocked {
			continue
		}
		waiting++
		if p := t.pullOf(s); p != nil {
			ahead = p.Ahead
		}
	}
	if waiting > 1 {
		return 0
	}
	return ahead
}

// imagesOf returns the number of images that were pulled in the given spans.
func (t Timeline) imagesOf(spans []Span) int {
	var images []string
	for _, s := range spans {
		image := s.Container
		if p := t.pullBehind(s); p != nil && p.Image != imagepull.UnknownImage {
			image = p.Image
		}
		if !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	return len(images)
}

// rateOf returns the download rate of the images in the given spans as text. The text is empty if the rate is unknown
// or meaningless. The kubelet pulls a pod's images one after the other, so rateOf adds up the durations of the pulls.
func (t Timeline) rateOf(spans []Span) string {
	const least = 100 * time.Millisecond
	var bytes int64
	var took time.Duration
	for _, s := range spans {
		p := t.pullOf(s)
		switch {
		case s.Duration() == 0:
		case p != nil && p.Outcome == imagepull.OutcomeVerified && p.Timed:
			took += p.Pull // the pull took time, but downloaded nothing
		case p != nil && p.hasRate():
			bytes += p.Bytes()
			took += p.DownloadedAt.Sub(p.StartedAt)
		default:
			return ""
		}
	}
	if took < least || bytes == 0 {
		return ""
	}
	return fmt.Sprintf(" at %.1f MiB/s", float64(bytes)/(1<<20)/took.Seconds())
}

// concurrencyOf returns a text about the number of other pulls that ran at the same time as the pulls in the given
// spans. All these pulls shared the node's network link. The text is empty if no other pull is known.
func (t Timeline) concurrencyOf(spans []Span) string {
	least, most := math.MaxInt, 0
	for _, s := range spans {
		beside := 0
		if p := t.pullOf(s); p != nil {
			beside = p.Beside
		}
		least, most = min(least, beside), max(most, beside)
	}
	switch {
	case most == 0:
		return ""
	case least < most:
		return fmt.Sprintf(" alongside up to %d other pulls", most)
	case most == 1:
		return " alongside 1 other pull"
	}
	return fmt.Sprintf(" alongside %d other pulls", most)
}

// lazilyOf returns a note about lazy images in the given spans. The content of a lazy image can arrive after the pull.
// The note is empty if no image is lazy.
func (t Timeline) lazilyOf(spans []Span) string {
	lazy := 0
	for _, s := range spans {
		if p := t.pullOf(s); p != nil && p.Lazy {
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

// Rate returns the pull's download rate in bytes per second, from StartedAt to DownloadedAt. The rate is known only if
// the evidence proves two facts: all bytes arrived in this period, and all bytes belong to this pull alone. If the
// rate is unknown, Rate returns 0.
func (p Pull) Rate() float64 {
	if !p.hasRate() {
		return 0
	}
	return float64(p.Bytes()) / p.DownloadedAt.Sub(p.StartedAt).Seconds()
}

// belongsTo reports whether a span belongs to a pull.
func (s Span) belongsTo(p Pull) bool { return p.Container == s.Container && p.Attempt == s.Attempt }

// pullOf returns the pull to which a span belongs, or nil.
func (t Timeline) pullOf(s Span) *Pull {
	if i := slices.IndexFunc(t.Pulls, s.belongsTo); i >= 0 {
		return &t.Pulls[i]
	}
	return nil
}

// hasRate reports whether all bytes of a pull certainly arrived between StartedAt and DownloadedAt.
func (p Pull) hasRate() bool { return p.ownBytes() && p.Credentials <= durationSlack }

// pullBehind returns the pull attempt that a span belongs to. A back-off belongs to the failed attempt before it. If
// the span's attempt is unknown and the container's image never changed, pullBehind returns the container's first pull.
// pullBehind returns nil if the span's image is unknown.
func (t Timeline) pullBehind(s Span) *Pull {
	if s.Phase == PhaseImageBackoff {
		s.Attempt--
	}
	var first *Pull
	changed := false
	for i := range t.Pulls {
		p := &t.Pulls[i]
		switch {
		case p.Container != s.Container:
			continue
		case s.belongsTo(*p) &&
			(p.FinishedAt.IsZero() || s.Phase == PhaseImageBackoff || s.StartAt.Before(p.FinishedAt)):
			return p
		case first == nil:
			first = p
		}
		changed = changed || p.Image != first.Image
	}
	if first == nil || changed || slices.ContainsFunc(t.Reached.Containers, func(c ContainerReached) bool {
		return c.Name == s.Container && c.Image != first.Image
	}) {
		return nil
	}
	return first
}

// registryOf returns the words "REGISTRY or its mirror" for a span's image, or an empty text if the registry is
// unknown. The image reference names the registry's host. The runtime might have pulled the image from a mirror or a
// pull-through cache, but the runtime does not report this.
func (t Timeline) registryOf(s Span) string {
	p := t.pullBehind(s)
	if p == nil || p.Registry == "" || p.Registry == imagepull.UnknownRegistry {
		return ""
	}
	return p.Registry + " or its mirror"
}
