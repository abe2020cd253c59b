package kubeauth

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/peer"
)

// reviewTimeout is how long the API server may take for one review; a scrape waits no longer than 10 s.
const reviewTimeout = 3 * time.Second

// remedyForbidden begins a report, which is cut.
const remedyForbidden = "bind ClusterRole system:auth-delegator to the ServiceAccount, or use --web-auth=none: "

// errFlood says that too many tokens or paths are new, so that the API server is not asked about this one.
var errFlood = errors.New("too many reviews at once")

// Reviewer gives verdicts. It is safe for concurrent use.
type Reviewer struct {
	client  *Client
	report  health.Report
	now     func() time.Time
	digests digests
	tokens  memory[authenticationv1.UserInfo]
	access  memory[struct{}]

	// friends are tokens whose owner was once allowed something. They have a budget of their own: who makes up
	// tokens, or has one that is good for nothing here, as every pod in the cluster has, keeps no scraper out.
	friends          *cache.LRUExpireCache
	friend, stranger *rate.Limiter
	// clients have a small budget each before they share that of strangers, so that a scraper whose
	// token is new gets its reviews whatever others show.
	clients *peer.Latest[*rate.Limiter]
}

// clientRate, clientBurst and maxClients are the reviews that each client has to itself, a second
// and at once: token and access of two scrapes, and again after 20 s. 1024 clients are more than a
// node has pods.
const (
	clientRate  = 0.2
	clientBurst = 4
	maxClients  = 1024
)

// friendFor outlasts the pauses of a scraper.
const friendFor = time.Hour

// New makes a Reviewer that has asked nothing yet. The report tells whether the API server reviews.
func New(config *rest.Config, report health.Report, now func() time.Time) (*Reviewer, error) {
	client, err := NewClient(config)
	if err != nil {
		return nil, err
	}
	clock := clock(now)
	return &Reviewer{
		client: client, report: report, now: now, digests: newDigests(),
		tokens:  newMemory[authenticationv1.UserInfo](maxTokens, acceptedFor, refusedFor, clock),
		access:  newMemory[struct{}](maxAccess, allowedFor, deniedFor, clock),
		friends: cache.NewLRUExpireCacheWithClock(maxTokens, clock),
		friend:  rate.NewLimiter(10, 20), stranger: rate.NewLimiter(5, 10),
		clients: peer.NewLatest(maxClients, func() *rate.Limiter { return rate.NewLimiter(clientRate, clientBurst) }),
	}, nil
}

// clock is a function as the clock of a cache.
type clock func() time.Time

// Now implements cache.Clock.
func (c clock) Now() time.Time { return c() }

// Request is what is asked of the agent: by a client at an address (IP:PORT), who shows a token, for a path.
type Request struct{ Client, Token, Path string }

// Review says whether the owner of the token may read the path. An error says that nobody can tell now; it never
// holds the token.
func (r *Reviewer) Review(ctx context.Context, request Request) (Verdict, error) {
	token, path := request.Token, request.Path
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	who := r.digests.of(token)
	budget := r.budget(who, request.Client)
	user, known, err := ask(r, ctx, budget, r.tokens, who, func() (authenticationv1.UserInfo, bool, error) {
		return r.client.Whose(ctx, token)
	})
	if err != nil {
		return "", err
	}
	if !known {
		return Unknown, nil
	}
	_, may, err := ask(r, ctx, budget, r.access, r.digests.of(token, path), func() (struct{}, bool, error) {
		may, err := r.client.MayGet(ctx, user, path)
		return struct{}{}, may, err
	})
	switch {
	case err != nil:
		return "", err
	case !may:
		return Denied, nil
	}
	r.friends.Add(who, struct{}{}, friendFor)
	return Allowed, nil
}

// budget is from what the reviews of a request are paid.
func (r *Reviewer) budget(who digest, client string) func() bool {
	now := r.now()
	if _, ok := r.friends.Get(who); ok {
		return func() bool { return r.friend.AllowN(now, 1) }
	}
	own := r.clients.Of(peer.Of(client))
	return func() bool { return own.AllowN(now, 1) || r.stranger.AllowN(now, 1) }
}

// ask recalls an answer, or asks the API server and remembers what it says. An error is not remembered.
func ask[A any](r *Reviewer, ctx context.Context, pay func() bool, m memory[A], key digest,
	review func() (A, bool, error)) (A, bool, error) {
	if answer, yes, known := m.recall(key); known {
		return answer, yes, nil
	}
	if !pay() {
		var none A
		return none, false, errFlood
	}
	answer, yes, err := review()
	if err != nil {
		r.tell(ctx, err)
		return answer, false, err
	}
	r.report(true, "reviewing tokens")
	m.remember(key, answer, yes)
	return answer, yes, nil
}

// tell reports why the API server did not review. That whoever asked went away says nothing of it.
func (r *Reviewer) tell(ctx context.Context, err error) {
	switch {
	case apierrors.IsForbidden(err):
		r.report(false, remedyForbidden+err.Error())
	case !errors.Is(ctx.Err(), context.Canceled):
		r.report(false, err.Error())
	}
}
