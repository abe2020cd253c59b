package kubeauth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// Lifetimes of cached responses. All lifetimes except refusedFor are the defaults of the kubelet's webhook caches. A
// response that rejects a token expires after only 10 seconds, because the API server also rejects tokens that it
// temporarily cannot check. A revoked token still works for at most two minutes. A revoked permission still applies for
// at most five minutes.
const (
	acceptedFor = 2 * time.Minute
	refusedFor  = 10 * time.Second
	allowedFor  = 5 * time.Minute
	deniedFor   = 30 * time.Second
)

// Sizes of the caches for token reviews and for access reviews. A full cache drops the least recently used response.
// Rejections have a separate cache of the same size, so that invented tokens cannot evict valid tokens.
const (
	maxTokens = 256
	maxAccess = 1024
)

// digest is a keyed hash of a secret text. The cache contains the digest instead of the text. Attackers do not know the
// key, so they cannot construct two texts with the same digest.
type digest [sha256.Size]byte

// responseCache caches the responses to one kind of review.
type responseCache[A any] struct {
	yes, no       *cache.LRUExpireCache
	yesFor, noFor time.Duration
}

func newResponseCache[A any](size int, yesFor, noFor time.Duration, clock cache.Clock) responseCache[A] {
	yes, no := cache.NewLRUExpireCacheWithClock(size, clock), cache.NewLRUExpireCacheWithClock(size, clock)
	return responseCache[A]{yes, no, yesFor, noFor}
}

// get returns a cached response. If the cache contains a response for the key, "known" is true. If this response is a
// rejection, "yes" is false and "response" is the zero value.
func (c responseCache[A]) get(key digest) (response A, yes, known bool) {
	if value, ok := c.yes.Get(key); ok {
		return value.(A), true, true
	}
	_, known = c.no.Get(key)
	return response, false, known
}

func (c responseCache[A]) remember(key digest, response A, yes bool) {
	if yes {
		c.yes.Add(key, response, c.yesFor)
		return
	}
	c.no.Add(key, struct{}{}, c.noFor)
}

// digests creates digests with a random key. The key stays the same until the agent stops.
type digests struct{ key [32]byte }

func newDigests() digests {
	var d digests
	_, _ = rand.Read(d.key[:]) // rand.Read never fails
	return d
}

func (d digests) of(parts ...string) (sum digest) {
	mac := hmac.New(sha256.New, d.key[:])
	for _, part := range parts {
		_, _ = mac.Write([]byte(part))
		_, _ = mac.Write([]byte{0}) // marks the end of a part; a token contains no zero byte
	}
	mac.Sum(sum[:0])
	return sum
}
