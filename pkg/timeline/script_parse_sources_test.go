package timeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *script) eventLine(at time.Time, rest string) error {
	container, rest, _ := strings.Cut(rest, " ")
	if container == "-" {
		container = ""
	}
	reason, rest, _ := strings.Cut(rest, " ")
	message, rest, ok := strings.Cut(strings.TrimPrefix(rest, "'"), "'")
	if !ok {
		return fmt.Errorf("message is not in single quotes")
	}
	o := EventSeen{UID: s.pod.UID, ArrivedAt: at, Live: true, Container: container, Reason: reason, Message: message,
		Count: 1}
	for _, w := range strings.Fields(rest) {
		if count, ok := strings.CutPrefix(w, "count="); ok {
			o.Count, _ = strconv.Atoi(count)
			continue
		}
		name, stamp, err := stamped(w)
		if err != nil {
			return err
		}
		if name == "named" {
			o.NamedAt = stamp
		}
		if name == "first" || name == "named" {
			o.FirstAt = stamp.Truncate(time.Second)
		}
		if name == "last" || o.LastAt.IsZero() {
			o.LastAt = stamp.Truncate(time.Second)
		}
	}
	s.observations = append(s.observations, o)
	return nil
}

func (s *script) runtimeLine(at time.Time, rest string) error {
	o := RuntimeSeen{UID: s.pod.UID, QueriedAt: at.Add(-5 * time.Millisecond), ArrivedAt: at}
	for _, item := range strings.Split(rest, "|") {
		words := strings.Fields(item)
		if len(words) == 0 {
			continue
		}
		stamps, numbers := map[string]time.Time{}, map[string]string{}
		for _, w := range words {
			if name, stamp, err := stamped(w); err == nil {
				stamps[name] = stamp
			} else if name, value, ok := strings.Cut(w, "="); ok {
				numbers[name] = value
			}
		}
		attempt, _ := strconv.Atoi(numbers["attempt"])
		code, _ := strconv.Atoi(numbers["exit"])
		size, _ := strconv.ParseInt(numbers["size"], 10, 64)
		switch words[0] {
		case "networkdown":
			o.NetworkDown = true
		case "networkup":
			o.NetworkUp = true
		case "networkfirst":
			o.NetworkFirst = true
		case "sandbox":
			o.Sandboxes = append(o.Sandboxes, Sandbox{
				ID: "sandbox-" + numbers["attempt"], Attempt: attempt, Ready: slices.Contains(words, "ready"),
				BegunAt: stamps["begun"], NetworkReadyAt: stamps["network"], RunningAt: stamps["running"],
				CreatedAt:       stamps["created"],
				ImageResolvedAt: stamps["imageresolved"], ImagePulledAt: stamps["imagepulled"],
				ImageKnown: !slices.Contains(words, "imageunknown"), Unstamped: slices.Contains(words, "unstamped"),
				ImageFirst: slices.Contains(words, "imagefirst"), ImageStoredAt: stamps["stored"],
			})
		case "image":
			o.Images = append(o.Images, Image{
				Ref: words[1], Present: slices.Contains(words, "present"), FirstPulledAt: stamps["first"],
				PulledAt: stamps["pulled"],
				Digest:   numbers["digest"], SizeBytes: size, ResolvedAt: stamps["resolved"],
				Layered: slices.Contains(words, "layers"), Layers: layersOf(words),
				Incomplete:      slices.Contains(words, "incomplete"),
				LazySnapshotter: slices.Contains(words, "lazysnapshotter"),
			})
		default:
			o.Containers = append(o.Containers, ContainerRun{
				Name: words[0], ID: words[0] + numbers["attempt"], Attempt: attempt,
				CreatedAt: stamps["created"], StartedAt: stamps["started"], FinishedAt: stamps["finished"],
				ExitCode: code,
				Reason:   numbers["died"],
			})
		}
	}
	s.observations = append(s.observations, o)
	return nil
}

// layersOf reads LAYER,SIZE,DOWNLOADED,UNPACKED. Either time can be missing. The suffix ",remote" means that the
// snapshotter mounted the layer from the registry.
func layersOf(words []string) (layers []Layer) {
	for _, w := range words {
		plain, remote := strings.CutSuffix(w, ",remote")
		parts := strings.Split(plain, ",")
		if len(parts) != 4 {
			continue
		}
		size, _ := strconv.ParseInt(parts[1], 10, 64)
		l := Layer{Digest: parts[0], SizeBytes: size, Remote: remote}
		if parts[2] != "" {
			l.DownloadedAt, _ = moment(parts[2])
		}
		if parts[3] != "" {
			l.UnpackedAt, _ = moment(parts[3])
		}
		layers = append(layers, l)
	}
	return layers
}
