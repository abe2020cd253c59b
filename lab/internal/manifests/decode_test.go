package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// object is a rendered Kubernetes object.
type object interface {
	runtime.Object
	metav1.Object
}

// scheme returns a scheme with every kind in the manifests.
func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, admissionv1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, networkingv1.AddToScheme,
		flowcontrolv1.AddToScheme,
		monitoringv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	s.AddKnownTypeWithName(schema.GroupVersionKind{Group: "security.openshift.io", Version: "v1",
		Kind: "SecurityContextConstraints"},
		&securityContextConstraints{})
	return s
}

// decode parses YAML documents into Kubernetes types, and sorts the objects by kind and name. The test fails if there
// is an unknown field, a repeated field or a repeated object.
func decode(t *testing.T, text string) []object {
	t.Helper()
	strict := serializer.NewCodecFactory(scheme(t), serializer.EnableStrict).UniversalDeserializer()
	documents, err := Documents(text)
	if err != nil {
		t.Fatal(err)
	}
	var objects []object
	for _, document := range documents {
		decoded, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("decode: %v\n%s", err, document)
		}
		objects = append(objects, decoded.(object))
	}
	slices.SortFunc(objects, func(a, b object) int { return strings.Compare(key(a), key(b)) })
	for i := 1; i < len(objects); i++ {
		if key(objects[i-1]) == key(objects[i]) {
			t.Errorf("%s is repeated", key(objects[i]))
		}
	}
	return objects
}

func key(o object) string {
	return fmt.Sprintf("%s %s/%s", o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName())
}

// find returns the only object of a type with the given name. An empty name matches all objects.
func find[T object](t *testing.T, objects []object, name string) T {
	t.Helper()
	var found []T
	for _, o := range objects {
		if typed, ok := o.(T); ok && (name == "" || o.GetName() == name) {
			found = append(found, typed)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T %q", len(found), *new(T), name)
	}
	return found[0]
}

// securityContextConstraints has those fields of OpenShift's type security.openshift.io/v1 that the manifests use. The
// module of the real type has no release that this module can require.
type securityContextConstraints struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`

	Priority                 *int32   `json:"priority"`
	AllowHostDirVolumePlugin bool     `json:"allowHostDirVolumePlugin"`
	AllowHostIPC             bool     `json:"allowHostIPC"`
	AllowHostNetwork         bool     `json:"allowHostNetwork"`
	AllowHostPID             bool     `json:"allowHostPID"`
	AllowHostPorts           bool     `json:"allowHostPorts"`
	AllowPrivilegeEscalation *bool    `json:"allowPrivilegeEscalation"`
	AllowPrivilegedContainer bool     `json:"allowPrivilegedContainer"`
	AllowedCapabilities      []string `json:"allowedCapabilities"`
	DefaultAddCapabilities   []string `json:"defaultAddCapabilities"`
	RequiredDropCapabilities []string `json:"requiredDropCapabilities"`
	ReadOnlyRootFilesystem   bool     `json:"readOnlyRootFilesystem"`
	FSGroup                  strategy `json:"fsGroup"`
	RunAsUser                strategy `json:"runAsUser"`
	SELinuxContext           strategy `json:"seLinuxContext"`
	SupplementalGroups       strategy `json:"supplementalGroups"`
	SeccompProfiles          []string `json:"seccompProfiles"`
	Volumes                  []string `json:"volumes"`
	Users                    []string `json:"users"`
	Groups                   []string `json:"groups"`
}

type strategy struct {
	Type string `json:"type"`
}

// DeepCopyObject implements runtime.Object. A shallow copy is enough, because the tests only read the objects.
func (s *securityContextConstraints) DeepCopyObject() runtime.Object {
	shallow := *s
	return &shallow
}
