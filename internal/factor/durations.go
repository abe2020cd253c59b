package factor

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

const (
	// bucketsPerDouble is the number of buckets between a duration and twice this duration.
	bucketsPerDouble = 8
	// firstBucket contains durations up to 1 ms. lastBucket contains durations over 33 hours.
	firstBucket = -10 * bucketsPerDouble
	lastBucket  = 17 * bucketsPerDouble
)

// durationBuckets counts durations in exponential buckets (api.DurationBucket). The size of the map does not depend on
// the number of durations.
type durationBuckets map[int]api.DurationBucket

func (d durationBuckets) add(length time.Duration) {
	bucket := firstBucket
	if length > 0 {
		bucket = int(math.Ceil(bucketsPerDouble * math.Log2(length.Seconds())))
	}
	d.merge(api.DurationBucket{Bucket: bucket, Pulls: 1, Length: api.Seconds(length)})
}

func (d durationBuckets) merge(b api.DurationBucket) {
	b.Bucket = min(max(b.Bucket, firstBucket), lastBucket)
	sum := d[b.Bucket]
	d[b.Bucket] = api.DurationBucket{Bucket: b.Bucket, Pulls: sum.Pulls + b.Pulls, Length: sum.Length + b.Length}
}

// list returns the buckets sorted by duration.
func (d durationBuckets) list() []api.DurationBucket {
	buckets := make([]api.DurationBucket, 0, len(d))
	for _, bucket := range slices.Sorted(maps.Keys(d)) {
		buckets = append(buckets, d[bucket])
	}
	return buckets
}

// quantile returns the given quantile of the durations, for example 0.9. The result is the mean duration of the bucket
// that contains the quantile. The result is exact if all durations in this bucket are equal. If the durations in this
// bucket differ, the error of the result is less than 10 %, except in the first and the last bucket.
func (d durationBuckets) quantile(share float64) time.Duration {
	total := 0
	for _, b := range d {
		total += b.Pulls
	}
	rank := max(1, int(math.Ceil(share*float64(total))))
	for _, b := range d.list() {
		if rank -= b.Pulls; rank <= 0 && b.Pulls > 0 {
			return b.Length.Duration() / time.Duration(b.Pulls)
		}
	}
	return 0
}
