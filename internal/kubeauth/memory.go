package kubeauth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// How long answers are cached: as in the kubelet's webhooks, except that a rejected token is cached
// for less time, because the API server also rejects while it cannot check. So a revoked token
// works for at most two more minutes, and a revoked permission for five.
const (
	acceptedFor = 2 * time.Minute
	refusedFor  = 10 * time.Second
	allowedFor  = 5 * time.Minute
	deniedFor   = 30 * time.Second
)

// How many answers of each kind are cached. Beyond that, the least recently used one is forgotten. Rejections have
// their own cache, so that invented tokens cannot evict valid ones.
const (
	maxTokens = 256
	maxAccess = 1024
)

// digest replaces what must not be kept. It is keyed, so that attackers cannot construct
// collisions.
type digest [sha256.Size]byte

// memory caches the answers to one kind of question.
type memory[A any] struct {
	yes, no       *cache.LRUExpireCache
	yesFor, noFor time.Duration
}

func newMemory[A any](size int, yesFor, noFor time.Duration, clock cache.Clock) memory[A] {
	yes, no := cache.NewLRUExpireCacheWithClock(size, clock), cache.NewLRUExpireCacheWithClock(size, clock)
	return memory[A]{yes, no, yesFor, noFor}
}

// recall returns whether an answer is cached, and the answer; a rejection has no value.
func (m memory[A]) recall(key digest) (answer A, yes, known bool) {
	if value, ok := m.yes.Get(key); ok {
		return value.(A), true, true
	}
	_, known = m.no.Get(key)
	return answer, false, known
}

func (m memory[A]) remember(key digest, answer A, yes bool) {
	if yes {
		m.yes.Add(key, answer, m.yesFor)
		return
	}
	m.no.Add(key, struct{}{}, m.noFor)
}

// digests creates digests with a key that lasts as long as the agent.
type digests struct{ key [32]byte }

func newDigests() digests {
	var d digests
	_, _ = rand.Read(d.key[:]) // never fails
	return d
}

func (d digests) of(parts ...string) (sum digest) {
	mac := hmac.New(sha256.New, d.key[:])
	for _, part := range parts {
		_, _ = mac.Write([]byte(part))
		_, _ = mac.Write([]byte{0}) // not in any part: they come from HTTP headers
	}
	mac.Sum(sum[:0])
	return sum
}
