package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Apply applies the object in a YAML document with server-side apply. If the manager set a field earlier and the
// document does not contain this field, the API server removes the field. An unknown field is an error. If dryRun is
// true, the API server validates the object but does not store the object.
func (c *Client) Apply(ctx context.Context, manager string, document []byte, dryRun bool) error {
	object, body, err := read(document)
	if err != nil {
		return err
	}
	path, err := c.pathOf(ctx, object)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", object.Kind, object.Name, err)
	}
	query := url.Values{"fieldManager": {manager}, "force": {"true"}, "fieldValidation": {metav1.FieldValidationStrict}}
	if dryRun {
		query.Set("dryRun", metav1.DryRunAll)
	}
	if err := c.send(ctx, http.MethodPatch, "application/apply-patch+yaml", path+"?"+query.Encode(),
		json.RawMessage(body), nil); err != nil {
		return fmt.Errorf("apply %s %s: %w", object.Kind, object.Name, err)
	}
	return nil
}

// Remove deletes the object in a YAML document, if the object exists.
func (c *Client) Remove(ctx context.Context, document []byte) error {
	object, _, err := read(document)
	if err != nil {
		return err
	}
	path, err := c.pathOf(ctx, object)
	if err == nil {
		err = c.Delete(ctx, path)
	}
	if err != nil && !IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", object.Kind, object.Name, err)
	}
	return nil
}

// Name identifies one object.
type Name struct{ APIVersion, Kind, Namespace, Name string }

// NameOf returns the name of the object in a YAML document.
func NameOf(document []byte) (Name, error) {
	object, _, err := read(document)
	return Name{object.APIVersion, object.Kind, object.Namespace, object.Name}, err
}

// Knows returns nil if the API server serves the kind of the object in a YAML document.
func (c *Client) Knows(ctx context.Context, document []byte) error {
	object, _, err := read(document)
	if err == nil {
		_, err = c.pathOf(ctx, object)
	}
	return err
}

func read(document []byte) (object metav1.PartialObjectMetadata, body []byte, err error) {
	if body, err = yaml.YAMLToJSONStrict(document); err == nil {
		err = json.Unmarshal(body, &object)
	}
	if err != nil {
		return object, nil, fmt.Errorf("read an object: %w", err)
	}
	return object, body, nil
}

// pathOf returns the URL path of an object. pathOf finds the path with the discovery API of the API server.
func (c *Client) pathOf(ctx context.Context, object metav1.PartialObjectMetadata) (string, error) {
	version, err := schema.ParseGroupVersion(object.APIVersion)
	if err != nil {
		return "", err
	}
	root := "/apis/" + object.APIVersion
	if version.Group == "" {
		root = "/api/" + object.APIVersion
	}
	var resources metav1.APIResourceList
	if err := c.Get(ctx, root, &resources); err != nil {
		return "", err
	}
	for _, resource := range resources.APIResources {
		switch {
		case resource.Kind != object.Kind || strings.Contains(resource.Name, "/"): // skip other kinds and subresources
		case resource.Namespaced && object.Namespace == "":
			return "", errors.New("the object has no namespace, but its kind requires a namespace")
		case resource.Namespaced:
			return root + "/namespaces/" + object.Namespace + "/" + resource.Name + "/" + object.Name, nil
		default:
			return root + "/" + resource.Name + "/" + object.Name, nil
		}
	}
	return "", fmt.Errorf("the API server does not serve the kind %q in the API version %q", object.Kind,
		object.APIVersion)
}
