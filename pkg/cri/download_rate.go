package cri

import (
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
)

const (
	// The agent computes a download rate from two queries. minRateTime and maxRateTime limit the time between these
	// queries. A rate over a shorter time would say little about the next seconds. A rate over a longer time would not
	// be recent. Each scrape queries the downloads, so maxRateTime must be longer than the usual scrape interval of
	// 30 s.
	minRateTime = 5 * time.Second
	maxRateTime = 35 * time.Second
	// If no byte of an image arrives for longer than stalledAfter, the download rate is unknown.
	stalledAfter = 5 * time.Second
)

// blobBytes describes the part of a blob that is on the node.
type blobBytes struct {
	done int64
	// For a blob that containerd is downloading, startedAt is the start of the download. For a complete blob, startedAt
	// is the end of the download, because containerd does not store the start. For an unpacked layer whose blob is
	// absent, startedAt is zero, because the bytes might not come from a download.
	startedAt time.Time
}

// receivedBytes counts the bytes of one image that arrived between the agent's queries. The method afterQuery returns a
// new receivedBytes and does not change the old one.
type receivedBytes struct {
	at    time.Time // time of the latest query
	blobs map[digest.Digest]blobBytes
	total int64
	// earlierTotals holds the totals of earlier queries, the oldest first. Of the totals that are at least minRateTime
	// old, the method afterQuery keeps only the latest. It keeps all younger totals.
	earlierTotals []receivedTotal
}

type receivedTotal struct {
	at    time.Time
	bytes int64
}

// afterQuery returns the counted bytes after a new query. The argument "at" is the time of the new query. The receiver
// contains the counted bytes after the previous query, or is nil. If a blob now has fewer bytes than before, the count
// for the image starts again at zero. For example, the download of the blob began again.
//
// afterQuery counts only bytes that arrived between the two queries. afterQuery does not count bytes that were on the
// node before: the earlier part of a resumed download, or a layer of another image. If a blob became complete between
// the queries, afterQuery assumes that its bytes were downloaded. This assumption makes the count too high in two
// cases: containerd took the complete blob from another containerd namespace, or the download resumed an abandoned
// partial download.
func (r *receivedBytes) afterQuery(at time.Time, blobs map[digest.Digest]blobBytes) *receivedBytes {
	after := &receivedBytes{at: at, blobs: blobs}
	if r == nil || !at.After(r.at) {
		return after
	}
	for blob, old := range r.blobs {
		if blobs[blob].done < old.done {
			return after
		}
	}
	after.total = r.total
	for blob, b := range blobs {
		if old, known := r.blobs[blob]; known {
			after.total += b.done - old.done
		} else if !b.startedAt.Before(r.at) {
			after.total += b.done
		}
	}
	after.earlierTotals = append(slices.Clone(r.earlierTotals), receivedTotal{r.at, r.total})
	for len(after.earlierTotals) > 1 && at.Sub(after.earlierTotals[1].at) >= minRateTime {
		after.earlierTotals = after.earlierTotals[1:]
	}
	return after
}

// rate returns the recent download rate in bytes per second, or 0 if the rate is unknown.
func (r *receivedBytes) rate() int64 {
	if len(r.earlierTotals) == 0 {
		return 0
	}
	from := r.earlierTotals[0]
	took := r.at.Sub(from.at)
	if took < minRateTime || took > maxRateTime {
		return 0
	}
	return int64(float64(r.total-from.bytes) / took.Seconds())
}

// rateOf returns the recent download rate of an image, or 0 if the rate is unknown. The rate is unknown without the
// image's config, because then the agent does not know which layers the image still needs. With the config, rateOf also
// stores the counted bytes for the next query. The argument "own" contains the blobs that containerd is downloading.
func (q *downloadQuery) rateOf(
	image imageContents, own map[digest.Digest]ingest, blobs map[digest.Digest]blobBytes,
) int64 {
	if !image.complete {
		return 0
	}
	r := q.session.receivedBefore[image.manifest].afterQuery(q.at, blobs)
	q.received[image.manifest] = r
	var writtenAt time.Time
	for blob, b := range blobs {
		if i, runs := own[blob]; runs {
			writtenAt = laterOf(writtenAt, i.updatedAt)
		} else {
			writtenAt = laterOf(writtenAt, b.startedAt) // the end of the download
		}
	}
	if q.at.Sub(writtenAt) > stalledAfter {
		return 0
	}
	return r.rate()
}
