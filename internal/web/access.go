package web

import (
	"context"
	"net/http"
	"strings"

	"go.uber.org/zap"
)

// Access decides whether the owner of a bearer token can read a path. The argument "client" is the client's address
// (IP:PORT). Access returns an error if it cannot check the token at the moment. Access can block until ctx is done.
// Many goroutines call Access at the same time.
type Access func(ctx context.Context, client, token, path string) (Verdict, error)

// Verdict is the result of an Access function.
type Verdict string

// Values of Verdict.
const (
	Allowed Verdict = "allowed"
	Unknown Verdict = "unknown" // the API server does not know the token
	Denied  Verdict = "denied"
)

// guard passes a request to the handler "next" if the function "access" allows the request. If the function "access" is
// nil, guard passes all requests to "next".
func guard(access Access, logger *zap.Logger, next http.Handler) http.Handler {
	if access == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := bearer(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, "unauthenticated", "the request has no bearer token: "+
				"add the header Authorization: Bearer TOKEN, with a token of the cluster")
			return
		}
		verdict, err := access(r.Context(), r.RemoteAddr, token, r.URL.Path)
		switch {
		case err != nil:
			logger.Debug("cannot check a token with the API server", zap.Error(err))
			writeRetry(w, http.StatusServiceUnavailable, "unavailable", "the agent cannot check the token "+
				"with the API server at the moment: try again")
		case verdict == Allowed:
			next.ServeHTTP(w, r)
		case verdict == Denied:
			writeError(w, http.StatusForbidden, "forbidden", "the token's user is not allowed to get this path: add "+
				"an RBAC rule with the verb get on the nonResourceURL /podlapse/… (for metrics, /metrics)")
		default:
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			writeError(w, http.StatusUnauthorized, "unauthenticated", "the API server rejects the token: the "+
				"token is unknown or expired")
		}
	})
}

// bearer returns the bearer token of a request (RFC 6750).
func bearer(r *http.Request) (string, bool) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != "" && !strings.ContainsAny(token, " \t,")
}
