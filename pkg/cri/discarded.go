package cri

import (
	"context"
	"strings"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	"github.com/opencontainers/go-digest"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// discardedLayers is the fact that containerd does not report if its option discard_unpacked_layers is on.
const discardedLayers = "the layers of many pulls (discard_unpacked_layers is on)"

// findDiscardOption determines from the latest manifest whether containerd discards layers after it unpacks them. The
// option cannot change during a session, because containerd reads its configuration only at its start.
func (a *responder) findDiscardOption(ctx context.Context) {
	if !a.stores.content.isEnabled() {
		return
	}
	var latest digest.Digest
	var latestAt time.Time
	err := a.client.listBlobs(ctx, manifestFilters, func(info *contentapi.Info) {
		if at := fromTimestamp(info.GetUpdatedAt()); latest == "" || at.After(latestAt) {
			latest, latestAt = digest.Digest(info.GetDigest()), at
		}
	})
	if err != nil {
		_ = a.stores.content.tolerate(err) // a broken connection also ends the session
		return
	}
	a.noteManifest(ctx, latest)
}

// noteMissingLayers examines the manifest of an unpacked image if the content store lacks one of the layers. A missing
// layer alone proves nothing, because containerd does not download a layer that is already unpacked.
func (a *responder) noteMissingLayers(ctx context.Context, image *timeline.Image, manifest digest.Digest) {
	missing := false
	for _, layer := range image.Layers {
		missing = missing || layer.DownloadedAt.IsZero() && !layer.UnpackedAt.IsZero() && !layer.Remote
	}
	if missing && !a.stores.discards.Load() {
		a.noteManifest(ctx, manifest)
	}
}

// noteManifest sets stores.discards if the manifest has layers, but its labels name only the config: see layerLabel. A
// manifest can keep old labels for layers from before the option was on. So other manifests prove nothing. If a query
// fails, noteManifest changes nothing.
func (a *responder) noteManifest(ctx context.Context, manifest digest.Digest) {
	if manifest.Validate() != nil {
		return
	}
	info, err := a.blobInfo(ctx, manifest)
	if err != nil || info == nil {
		return
	}
	children := 0
	for key := range info.GetLabels() {
		if strings.HasPrefix(key, childLabel) {
			children++
		}
	}
	if _, config := info.GetLabels()[childLabel+"config"]; !config || children > 1 {
		return
	}
	if found, err := a.catalog.contentsOf(ctx, manifest); err == nil && len(found.layers) > 0 {
		a.stores.discards.Store(true)
	}
}
