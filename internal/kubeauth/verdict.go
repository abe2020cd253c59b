package kubeauth

// Verdict is the API server's decision about a request.
type Verdict string

// Values of Verdict.
const (
	Allowed Verdict = "allowed"
	Unknown Verdict = "unknown" // the API server does not know the token, or the token has expired
	Denied  Verdict = "denied"  // the token's user lacks the permission
)
