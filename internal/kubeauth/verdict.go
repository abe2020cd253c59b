package kubeauth

// Verdict is what the API server says of a request.
type Verdict string

// The verdicts.
const (
	Allowed Verdict = "allowed"
	Unknown Verdict = "unknown" // the token belongs to nobody, or no longer
	Denied  Verdict = "denied"  // its user may not
)
