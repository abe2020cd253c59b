// Package kubeauth authenticates bearer tokens at the API server (TokenReview). The package also checks whether the
// token's user can read a nonResourceURL (SubjectAccessReview). Kubernetes components with delegated authentication,
// such as the kubelet, use the same two kinds of review (TokenReview and SubjectAccessReview). Package web calls
// kubeauth from the goroutines of its requests.
//
// The package caches responses, so most scrapes cause no requests. If the API server fails, scrapes still work until
// the cached responses expire. The cache is bounded, and contains only a keyed hash of each token.
//
// The module k8s.io/apiserver also has functions for token reviews and access reviews. However, k8s.io/apiserver would
// add 23 MB to the binary and 18 MB to the resident memory, even if the agent reviews no tokens.
package kubeauth
