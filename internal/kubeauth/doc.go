// Package kubeauth authenticates bearer tokens at the API server (TokenReview) and checks whether
// their user may read a nonResourceURL (SubjectAccessReview), like kube-apiserver's own delegating
// servers. Package web calls it from the goroutines of its requests. It caches the answers, so that
// a scrape costs the API server nothing and works for a while without it. The cache is bounded, and
// holds only a keyed hash of a token.
//
// k8s.io/apiserver has the same ready-made. Linked into the agent, it takes 23 MB of binary and 18
// MB of resident memory even while it is off, which is most of what the agent uses.
package kubeauth
