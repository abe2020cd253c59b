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

// reviewTimeout limits the total time of all reviews for one request to the agent. The limit is shorter than
// Prometheus's default scrape timeout of 10 s.
const reviewTimeout = 3 * time.Second

// If the API server forbids a review, the health report starts with remedyForbidden. The API server's message comes
// last, because the agent cuts off the end of long health reports.
const remedyForbidden = "give the ServiceAccount the rules of the component metrics-auth, or use " +
	"--web-auth=none: "

// errFlood means that the agent did not send a review to the API server. Too many requests with new tokens or paths
// have exceeded the rate limits.
var errFlood = errors.New("the agent received too many requests with new tokens or paths: retry later")

// Reviewer decides which requests the agent serves. A Reviewer is safe for concurrent use.
type Reviewer struct {
	client  *Client
	report  health.Report
	now     func() time.Time
	digests digests
	tokens  responseCache[authenticationv1.UserInfo]
	access  responseCache[struct{}]

	// authorized holds digests of tokens. In the past hour (authorizedFor), the agent allowed a request with each of
	// these tokens. These tokens have their own rate limit (authorizedRate). Clients with invalid tokens, or with valid
	// tokens that lack the permission, cannot use up this limit.
	authorized                  *cache.LRUExpireCache
	authorizedRate, unknownRate *rate.Limiter
	// clients holds a rate limiter for each client. If a token is not in authorized, its reviews count against the
	// limit of the request's client. If the client's limit is used up, further reviews count against unknownRate. All
	// clients share unknownRate. So a scraper can use a new token even while other clients send many tokens.
	clients *peer.Latest[*rate.Limiter]
}

// clientRate is the long-term limit of reviews per second for one client. clientBurst is the number of reviews that one
// client can request at the same time. The burst is enough for two scrapes: each scrape needs one token review and one
// access review. If a client uses up its burst, the whole burst is available again after 20 s without reviews.
// maxClients is larger than the number of pods on a node.
const (
	clientRate  = 0.2
	clientBurst = 4
	maxClients  = 1024
)

// authorizedFor is how long a token stays in Reviewer.authorized. authorizedFor is longer than a scrape interval, so
// Reviewer.authorized still contains a scraper's token at the next scrape.
const authorizedFor = time.Hour

// New creates a Reviewer. The Reviewer calls the function "report" to report whether its reviews at the API server
// succeed or fail.
func New(config *rest.Config, report health.Report, now func() time.Time) (*Reviewer, error) {
	client, err := NewClient(config)
	if err != nil {
		return nil, err
	}
	clock := clock(now)
	return &Reviewer{
		client: client, report: report, now: now, digests: newDigests(),
		tokens:         newResponseCache[authenticationv1.UserInfo](maxTokens, acceptedFor, refusedFor, clock),
		access:         newResponseCache[struct{}](maxAccess, allowedFor, deniedFor, clock),
		authorized:     cache.NewLRUExpireCacheWithClock(maxTokens, clock),
		authorizedRate: rate.NewLimiter(10, 20), unknownRate: rate.NewLimiter(5, 10),
		clients: peer.NewLatest(maxClients, func() *rate.Limiter { return rate.NewLimiter(clientRate, clientBurst) }),
	}, nil
}

// clock adapts a function to cache.Clock.
type clock func() time.Time

// Now implements cache.Clock.
func (c clock) Now() time.Time { return c() }

// Request is a request from a client to the agent. A Reviewer decides whether the agent serves the request. Client is
// the client's address (IP:PORT). Path is the path of the request.
type Request struct{ Client, Token, Path string }

// Review reports whether the owner of the token can read the path. An error means that the decision is currently
// unknown. The error never contains the token.
func (r *Reviewer) Review(ctx context.Context, request Request) (Verdict, error) {
	token, path := request.Token, request.Path
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	who := r.digests.of(token)
	budget := r.budget(who, request.Client)
	user, known, err := cachedReview(r, ctx, budget, r.tokens, who, func() (authenticationv1.UserInfo, bool, error) {
		return r.client.Whose(ctx, token)
	})
	if err != nil {
		return "", err
	}
	if !known {
		return Unknown, nil
	}
	_, may, err := cachedReview(r, ctx, budget, r.access, r.digests.of(token, path), func() (struct{}, bool, error) {
		may, err := r.client.MayGet(ctx, user, path)
		return struct{}{}, may, err
	})
	switch {
	case err != nil:
		return "", err
	case !may:
		return Denied, nil
	}
	r.authorized.Add(who, struct{}{}, authorizedFor)
	return Allowed, nil
}

// budget returns a function that checks the rate limits for a request before each review. Each call of the function
// deducts one review from the limits. If the limits do not allow another review, the function returns false.
func (r *Reviewer) budget(who digest, client string) func() bool {
	now := r.now()
	if _, ok := r.authorized.Get(who); ok {
		return func() bool { return r.authorizedRate.AllowN(now, 1) }
	}
	own := r.clients.Of(peer.Of(client))
	return func() bool { return own.AllowN(now, 1) || r.unknownRate.AllowN(now, 1) }
}

// cachedReview returns the cached response to a review. If the cache does not contain the response, cachedReview
// queries the API server and caches the response. cachedReview does not cache errors.
func cachedReview[A any](
	r *Reviewer, ctx context.Context, pay func() bool, cached responseCache[A], key digest,
	review func() (A, bool, error),
) (A, bool, error) {
	if response, yes, known := cached.get(key); known {
		return response, yes, nil
	}
	if !pay() {
		var none A
		return none, false, errFlood
	}
	response, yes, err := review()
	if err != nil {
		r.reportFailure(ctx, err)
		return response, false, err
	}
	r.report(true, "reviewing tokens")
	cached.remember(key, response, yes)
	return response, yes, nil
}

// reportFailure reports the reason for a failed review. If the review failed because the client disconnected,
// reportFailure reports nothing.
func (r *Reviewer) reportFailure(ctx context.Context, err error) {
	switch {
	case apierrors.IsForbidden(err):
		r.report(false, remedyForbidden+err.Error())
	case !errors.Is(ctx.Err(), context.Canceled):
		r.report(false, err.Error())
	}
}
