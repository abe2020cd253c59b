package timeline

import (
	"slices"
	"time"
)

// storedImage describes when one image is on the node.
type storedImage struct {
	present bool        // present from the beginning
	pulled  []time.Time // the ends of all pulls of the pod and of other pods, the oldest first
	came    time.Time   // when the first pull received the manifest
}

func (s *storedImage) at(t time.Time) bool {
	return s.present || len(s.pulled) > 0 && !s.pulled[0].After(t)
}

func (s *storedImage) pull(t time.Time) {
	s.pulled = append(s.pulled, t)
	slices.SortFunc(s.pulled, time.Time.Compare)
}

// receiveManifest records that a pull received the manifest.
func (s *storedImage) receiveManifest(t time.Time) {
	if s.came.IsZero() || t.Before(s.came) {
		s.came = t
	}
}
