// Package kubeauth checks bearer tokens with the API server. A TokenReview shows which user owns a token. A
// SubjectAccessReview shows whether this user can read a nonResourceURL. Kubernetes components with delegated
// authentication, such as the kubelet, use the same two reviews. For each HTTP request, package web calls kubeauth on
// the goroutine of the request.
//
// The package caches responses, so most scrapes cause no requests to the API server. If the API server fails, scrapes
// still work until the cached responses expire. The size of the cache is limited. The cache contains only a keyed hash
// of each token.
//
// The module k8s.io/apiserver also has functions for token reviews and access reviews. However, k8s.io/apiserver would
// add 23 MB to the binary and 18 MB to the resident memory, even if the agent reviews no tokens.
package kubeauth
