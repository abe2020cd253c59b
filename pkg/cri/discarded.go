package cri

import (
	"context"
	"strings"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
)

// discardedLayers is the fact that containerd does not show if its option discard_unpacked_layers is on.
const discardedLayers = "which layers many pulls downloaded, because discard_unpacked_layers is on"

// findDiscardOption determines from the manifest of the latest pull whether containerd discards layers after it unpacks
// them. If findDiscardOption finds no manifest, or if a query fails, the state of the option stays unknown.
func (a *responder) findDiscardOption(ctx context.Context) {
	if !a.stores.content.isEnabled() {
		return
	}
	var latest *contentapi.Info
	var latestAt time.Time
	err := a.client.listBlobs(ctx, manifestFilters, func(info *contentapi.Info) {
		// each pull writes the labels again when it begins
		if at := fromTimestamp(info.GetUpdatedAt()); latest == nil || at.After(latestAt) {
			latest, latestAt = info, at
		}
	})
	if err != nil {
		_ = a.stores.content.tolerate(err) // a broken connection also ends the session
		return
	}
	a.stores.noteManifest(latest)
}

// noteManifest sets s.discards from the labels of a pulled image's manifest. If the option discard_unpacked_layers is
// on, the labels name the config, but no layer: see layerLabel.
func (s *storeSet) noteManifest(manifest *contentapi.Info) {
	config, layer := false, false
	for key := range manifest.GetLabels() {
		config = config || key == childLabel+"config"
		layer = layer || strings.HasPrefix(key, layerLabel)
	}
	if config || layer {
		s.discards.Store(!layer)
	}
}
