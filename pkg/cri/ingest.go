package cri

import (
	"cmp"
	"slices"
	"strings"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	"github.com/opencontainers/go-digest"
)

const (
	// childLabel begins the labels that name the blobs of a manifest; those of layers continue with
	// layerLabel (containerd, core/images/mediatypes.go: ChildGCLabels). With
	// discard_unpacked_layers, layers have no such labels.
	childLabel = "containerd.io/gc.ref.content."
	layerLabel = childLabel + "l."
	// sourceLabel, followed by a registry's host without its port, is the label with the repositories on that host from
	// which a blob came, separated by commas (containerd, core/remotes/docker/handler.go).
	sourceLabel = "containerd.io/distribution.source."

	// abandonedAfter is how long an ingest without progress still counts as running. containerd
	// aborts a pull after 5 min without progress (image_pull_progress_timeout) and removes its
	// ingests within seconds. Those of a containerd that was killed stay for a day.
	abandonedAfter = 10 * time.Minute
	maxIngests     = 1024 // considered at once; containerd downloads three layers of an image at a time
	maxDownloads   = 64   // manifests considered at once
	// maxUnlabelled limits the number of manifests that are read because their labels do not name their layers.
	maxUnlabelled = 8
)

// manifestFilters match manifests, including those without a label for the config or for layers.
var manifestFilters = []string{`labels."` + childLabel + `config"`, `labels."` + layerLabel + `0"`}

// ingest is one blob that is being downloaded.
type ingest struct {
	digest    digest.Digest
	manifest  bool  // of an image, not an index
	done      int64 // bytes
	total     int64 // bytes; 0 if unknown
	startedAt time.Time
}

// runningIngests returns, by digest, the blobs that a pull is writing now. It omits ingests with
// names that no pull uses, such as those of an import.
func runningIngests(statuses []*contentapi.Status, now time.Time) map[digest.Digest]ingest {
	running := map[digest.Digest]ingest{}
	for _, s := range statuses {
		kind, blob, ok := parseRefKey(s.GetRef())
		updatedAt := fromTimestamp(s.GetUpdatedAt())
		abandoned := !updatedAt.IsZero() && now.Sub(updatedAt) > abandonedAfter
		if !ok || abandoned || len(running) == maxIngests {
			continue
		}
		running[blob] = ingest{
			digest: blob, manifest: kind == "manifest",
			done: believable(s.GetOffset()), total: believable(s.GetTotal()),
			startedAt: fromTimestamp(s.GetStartedAt()),
		}
	}
	return running
}

// parseRefKey parses the name of a pull's ingest: layer-sha256:…, or layer-NAME@sha256:… for a
// descriptor with a name (containerd, core/remotes/handlers.go: MakeRefKey).
func parseRefKey(ref string) (kind string, blob digest.Digest, ok bool) {
	kind, key, ok := strings.Cut(ref, "-")
	if at := strings.LastIndexByte(key, '@'); at >= 0 {
		key = key[at+1:]
	}
	blob = digest.Digest(key)
	return kind, blob, ok && blob.Validate() == nil
}

func believable(size int64) int64 {
	if size < 0 || size > maxSize {
		return 0
	}
	return size
}

// manifestsOf selects from listed blobs the manifests to which the running ingests may belong.
type manifestsOf struct {
	running    map[digest.Digest]ingest
	since      time.Time        // zero if only running ingests are of interest
	named      []listedManifest // at least one of its children runs
	begun      []listedManifest // no child runs, and a pull of it began since
	unlabelled []listedManifest // its labels do not name layers; the latest first
}

type listedManifest struct {
	digest               digest.Digest
	registry, repository string
	updatedAt            time.Time // of its labels, which every pull writes when it begins
	begun                bool      // a pull began since the requested time
}

func (m *manifestsOf) add(info *contentapi.Info) {
	found := listedManifest{digest: digest.Digest(info.GetDigest()), updatedAt: fromTimestamp(info.GetUpdatedAt())}
	if found.digest.Validate() != nil {
		return
	}
	named, labeled := false, false
	for key, value := range info.GetLabels() {
		if strings.HasPrefix(key, childLabel) {
			_, runs := m.running[digest.Digest(value)]
			named = named || runs
			labeled = labeled || strings.HasPrefix(key, layerLabel)
		}
	}
	found.registry, found.repository = sourceOf(info.GetLabels())
	found.begun = !m.since.IsZero() && !found.updatedAt.Before(m.since)
	switch {
	case named && len(m.named) < maxDownloads:
		m.named = append(m.named, found)
	case !named && !labeled:
		at, _ := slices.BinarySearchFunc(m.unlabelled, found, func(a, b listedManifest) int {
			return cmp.Or(b.updatedAt.Compare(a.updatedAt), cmp.Compare(a.digest, b.digest))
		})
		if at < maxUnlabelled {
			m.unlabelled = slices.Insert(m.unlabelled, at, found)
			m.unlabelled = m.unlabelled[:min(len(m.unlabelled), maxUnlabelled)]
		}
	case !named && found.begun && len(m.begun) < maxDownloads:
		m.begun = append(m.begun, found)
	}
}

// sourceOf returns where a blob came from. If several pulls differ in a part, the part is empty, because it is unknown
// which of them is in progress.
func sourceOf(labels map[string]string) (registry, repository string) {
	hosts := 0
	for key, value := range labels {
		host, ok := strings.CutPrefix(key, sourceLabel)
		if !ok {
			continue
		}
		hosts++
		registry, repository = host, value
	}
	switch {
	case hosts > 1:
		return "", ""
	case strings.Contains(repository, ","):
		return registry, ""
	}
	return registry, repository
}
