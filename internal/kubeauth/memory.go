package kubeauth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// How long answers count: as kubelet's webhooks have it, but that a refused token counts shorter, since the
// API server also refuses while it cannot check. So a token that is revoked works for two minutes more at most, a
// permission that is taken away for five.
const (
	acceptedFor = 2 * time.Minute
	refusedFor  = 10 * time.Second
	allowedFor  = 5 * time.Minute
	deniedFor   = 30 * time.Second
)

// How many answers are remembered of each kind; of more, the longest unused is forgotten. Refusals have a
// place of their own, so that made-up tokens push out no good ones.
const (
	maxTokens = 256
	maxAccess = 1024
)

// digest stands for what must not be kept: keyed, so that nobody can make two that are the same.
type digest [sha256.Size]byte

// memory remembers what was answered about one kind of question.
type memory[A any] struct {
	yes, no       *cache.LRUExpireCache
	yesFor, noFor time.Duration
}

func newMemory[A any](size int, yesFor, noFor time.Duration, clock cache.Clock) memory[A] {
	return memory[A]{cache.NewLRUExpireCacheWithClock(size, clock), cache.NewLRUExpireCacheWithClock(size, clock),
		yesFor, noFor}
}

// recall says whether an answer is known, and which; a no has no value.
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

// digests makes them with a key that lasts as long as the agent.
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
		_, _ = mac.Write([]byte{0}) // in none of them: both come out of HTTP headers
	}
	mac.Sum(sum[:0])
	return sum
}
