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
	// containerd labels a manifest with the digests of the blobs that the manifest lists. childLabel is the prefix of
	// these labels. Labels for layers begin with layerLabel (containerd, core/images/mediatypes.go: ChildGCLabels). If
	// the containerd option discard_unpacked_layers is on, manifests have no labels for layers.
	childLabel = "containerd.io/gc.ref.content."
	layerLabel = childLabel + "l."
	// sourceLabel is the prefix of the labels that name the source of a blob. The rest of the label is the host of the
	// registry without a port. The value lists the repositories on that host, separated by commas (containerd,
	// core/remotes/docker/handler.go).
	sourceLabel = "containerd.io/distribution.source."

	// An ingest is a blob that containerd is writing. If an ingest makes no progress for longer than abandonedAfter,
	// the agent ignores it. containerd aborts a pull after 5 min without progress (image_pull_progress_timeout) and
	// removes the pull's ingests within seconds. If containerd is killed, the ingests remain for a day.
	abandonedAfter = 10 * time.Minute
	maxIngests     = 1024 // maximum number of ingests; containerd downloads three layers of an image in parallel
	maxDownloads   = 64   // maximum number of manifests that belong to pulls in progress
	// The agent reads at most maxUnlabelled manifests that have no layer labels.
	maxUnlabelled = 8
)

// manifestFilters select the manifests with a label that names the config or the first layer of the image.
var manifestFilters = []string{`labels."` + childLabel + `config"`, `labels."` + layerLabel + `0"`}

// ingest is one blob that containerd is downloading.
type ingest struct {
	digest    digest.Digest
	manifest  bool  // true if the blob is the manifest of an image; false for an index
	done      int64 // bytes
	total     int64 // bytes; 0 if unknown
	startedAt time.Time
	updatedAt time.Time // time of the latest write; zero if unknown
}

// runningIngests returns the blobs that a pull is writing now. The key is the digest of the blob. runningIngests omits
// abandoned ingests. runningIngests also omits ingests that no pull created, such as the layers of an image import.
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
			done: believableSize(s.GetOffset()), total: believableSize(s.GetTotal()),
			startedAt: fromTimestamp(s.GetStartedAt()), updatedAt: updatedAt,
		}
	}
	return running
}

// parseRefKey parses the name of an ingest that belongs to a pull. The name has the form KIND-DIGEST, for example
// layer-sha256:…. If the descriptor of the blob has a name, the form is KIND-NAME@DIGEST (containerd,
// core/remotes/handlers.go: MakeRefKey).
func parseRefKey(ref string) (kind string, blob digest.Digest, ok bool) {
	kind, key, ok := strings.Cut(ref, "-")
	if at := strings.LastIndexByte(key, '@'); at >= 0 {
		key = key[at+1:]
	}
	blob = digest.Digest(key)
	return kind, blob, ok && blob.Validate() == nil
}

func believableSize(size int64) int64 {
	if size < 0 || size > maxSize {
		return 0
	}
	return size
}

// manifestsOf collects the manifests of pulls that might be in progress.
type manifestsOf struct {
	running    map[digest.Digest]ingest
	since      time.Time        // zero if the caller needs only pulls that are downloading a blob
	named      []listedManifest // manifests with a label that names a blob that containerd is downloading
	unlabelled []listedManifest // manifests without labels for layers, the latest manifest first
	// begun contains the manifests of pulls that began after "since" and are not downloading a blob now. Every manifest
	// in begun has layer labels.
	begun []listedManifest
}

type listedManifest struct {
	digest               digest.Digest
	registry, repository string
	updatedAt            time.Time // latest write of the labels, which every pull writes when it begins
	begun                bool      // a pull began after manifestsOf.since
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

// sourceOf returns the registry and the repository of a blob. If the labels name several registries, both results are
// empty. If the labels name one registry and several repositories, only the repository is empty. The labels do not show
// which of several registries or repositories the current pull uses.
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
