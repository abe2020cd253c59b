package kubeauth

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Client creates reviews. Client uses a scheme with only the two API groups of reviews: authentication and
// authorization. The scheme of the full clientset would take megabytes of memory.
type Client struct {
	authentication, authorization rest.Interface
}

// NewClient creates a client but does not connect.
func NewClient(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{authenticationv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme for TokenReview and SubjectAccessReview: %w", err)
		}
	}
	codecs := serializer.NewCodecFactory(scheme).WithoutConversion()
	of := func(group schema.GroupVersion) (rest.Interface, error) {
		config := rest.CopyConfig(config)
		config.GroupVersion = &group
		config.APIPath = "/apis"
		config.NegotiatedSerializer = codecs
		config.ContentType = runtime.ContentTypeJSON
		config.QPS = -1 // no rate limit in the client, because the caller limits the rate
		client, err := rest.RESTClientFor(config)
		if err != nil {
			return nil, fmt.Errorf("build client for %s: %w", group, err)
		}
		return client, nil
	}
	authentication, err := of(authenticationv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	authorization, err := of(authorizationv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return &Client{authentication, authorization}, nil
}

// Whose returns the owner of a token. If the API server does not know the token, the second result is false.
func (c *Client) Whose(ctx context.Context, token string) (user authenticationv1.UserInfo, known bool, err error) {
	review := authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	// The response contains the token, so Whose returns only the user.
	if err := c.authentication.Post().Resource("tokenreviews").Body(&review).Do(ctx).Into(&review); err != nil {
		return user, false, fmt.Errorf("check the client's token (TokenReview): %w", err)
	}
	return review.Status.User, review.Status.Authenticated, nil
}

// MayGet reports whether a user can read a path of the agent. In RBAC rules, the nonResourceURL of a path is
// /podlapse/PATH. For metrics, permission for the nonResourceURL /metrics is also sufficient.
func (c *Client) MayGet(ctx context.Context, user authenticationv1.UserInfo, path string) (bool, error) {
	for _, url := range nonResourceURLs(path) {
		if may, err := c.mayGet(ctx, user, url); may || err != nil {
			return may, err
		}
	}
	return false, nil
}

func (c *Client) mayGet(ctx context.Context, user authenticationv1.UserInfo, url string) (bool, error) {
	review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: url},
	}}
	for key, values := range user.Extra {
		review.Spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	if err := c.authorization.Post().Resource("subjectaccessreviews").Body(&review).Do(ctx).Into(&review); err != nil {
		return false, fmt.Errorf("review the user's access: %w", err)
	}
	return review.Status.Allowed, nil
}

// MayI reports whether the agent itself can use a verb on a resource in all namespaces, for example list pods.
func (c *Client) MayI(ctx context.Context, verb, group, resource string) (bool, error) {
	review := authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource},
	}}
	err := c.authorization.Post().Resource("selfsubjectaccessreviews").Body(&review).Do(ctx).Into(&review)
	if err != nil {
		return false, fmt.Errorf("check the agent's own permissions (SelfSubjectAccessReview): %w", err)
	}
	return review.Status.Allowed, nil
}
