package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// Limits of an attack.
const (
	attacksAtOnce = 2  // attacks that run at the same time
	roundsAtMost  = 20 // of all attacks in one block
	// Before an attack may end, because some attacks change objects that earlier rounds created.
	roundsAtLeast = 3
	roundEvery    = 2 * time.Second // between the starts of two rounds
)

// invention is part of every name that the tenant makes up in Events. No object and no pull has it, so the agent may
// mention it only for the tenant's own pods.
const invention = "mallory"

// tenant is a client with the built-in role edit in one namespace.
type tenant struct {
	bench     *bench.Bench // for names, UIDs and images of other tenants' pods, which a tenant may know
	namespace string
	kube      *kube.Client // with the tenant's token
	attacks   []*attackRun
	absent    string // an image that is in the registry and not on the node

	mu      sync.Mutex
	rounds  int // of the current attack
	baits   []corev1.Pod
	victims []corev1.Pod
}

// hostileAttack is one thing that a tenant tries repeatedly.
type hostileAttack struct {
	name    string
	rounds  int  // how often it is tried in a block; 0 for every round
	refused bool // the API server may refuse all of it
	try     func(ctx context.Context, t *attackRun)
}

// attackRun runs one attack and counts the results.
type attackRun struct {
	*tenant
	attack hostileAttack
	round  int // of the block, from 0

	mirrored map[types.UID]bool // other tenants' pods that have a mirror

	mu                      sync.Mutex
	sent, refused, troubled int
	why                     string // the first refusal of the API server
}

// newTenant creates the namespace, an account with the role edit in it, and pods that never start, about which the
// agent needs more evidence.
func newTenant(ctx context.Context, b *bench.Bench) (*tenant, error) {
	const account = "tenant"
	t := &tenant{bench: b, namespace: bench.FreshName("hostile-tenants-own")}
	if err := b.Kube.CreateNamespace(ctx, b.Node.Report, t.namespace, purpose); err != nil {
		return nil, err
	}
	err := b.Kube.Create(ctx, "/api/v1/namespaces/"+t.namespace+"/serviceaccounts",
		corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}})
	err = errors.Join(err, b.Kube.Create(ctx, rbacRoot+"/namespaces/"+t.namespace+"/rolebindings", rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: t.namespace, Name: account}},
	}))
	if err != nil {
		return nil, errors.Join(err, t.remove(ctx))
	}
	token, err := b.AccountToken(ctx, t.namespace, account)
	if err == nil {
		t.kube, err = b.Node.KubeAs(token, nil)
	}
	if err == nil {
		t.absent, err = b.Image(ctx, "absent", smallLayer)
	}
	if err != nil {
		return nil, errors.Join(err, t.remove(ctx))
	}
	for _, attack := range hostileAttacks() {
		t.attacks = append(t.attacks, &attackRun{tenant: t, attack: attack, mirrored: make(map[types.UID]bool)})
	}
	return t, nil
}

// rbacRoot is the path of RBAC's objects in the API server.
const rbacRoot = "/apis/rbac.authorization.k8s.io/v1"

// remove deletes everything that the tenant created, as the administrator.
func (t *tenant) remove(ctx context.Context) error {
	if t.kube != nil {
		t.kube.Close()
	}
	return t.bench.Kube.DeleteNamespace(ctx, t.bench.Node.Report, t.namespace)
}

// attack tries everything in the list, round after round, until ctx ends.
func (t *tenant) attack(ctx context.Context) error {
	t.mu.Lock()
	t.rounds = 0
	t.mu.Unlock()
	if err := t.createWaitingPods(ctx); err != nil {
		return err
	}
	for round := range roundsAtMost {
		next := time.After(roundEvery)
		if err := t.look(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		var all errgroup.Group
		all.SetLimit(attacksAtOnce)
		for _, a := range t.attacks {
			if a.attack.rounds > 0 && round >= a.attack.rounds {
				continue
			}
			a.round = round
			all.Go(func() error { a.attack.try(ctx, a); return nil })
		}
		if err := all.Wait(); err != nil {
			return err
		}
		t.mu.Lock()
		t.rounds++
		t.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// awaitRounds waits until the attack has had enough rounds, or has ended.
func (t *tenant) awaitRounds(ctx context.Context) error {
	for ctx.Err() == nil {
		t.mu.Lock()
		enough := t.rounds >= roundsAtLeast
		t.mu.Unlock()
		if enough {
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			break
		}
	}
	return errors.New("attack the agent: the API server took too long, so the scenario is not conclusive")
}

// look lists the pods: the tenant's own with its own token, the others as the administrator.
func (t *tenant) look(ctx context.Context) error {
	own, err := t.kube.Pods(ctx, t.namespace)
	if err != nil {
		return err
	}
	others, err := t.bench.Kube.Pods(ctx, t.bench.Namespace)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.baits, t.victims = nil, others
	for _, pod := range own {
		if strings.HasPrefix(pod.Name, baitPrefix) {
			t.baits = append(t.baits, pod)
		}
	}
	return nil
}

// own returns the tenant's pods that never start. others returns the pods that it attacks.
func (t *tenant) own() []corev1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.baits
}

func (t *tenant) others() []corev1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.victims
}

// images returns the images of the pods that the tenant attacks.
func (t *tenant) images() (images []string) {
	seen := make(map[string]bool)
	for _, pod := range t.others() {
		for _, c := range pod.Spec.Containers {
			if !seen[c.Image] {
				images, seen[c.Image] = append(images, c.Image), true
			}
		}
	}
	return images
}

// event returns an Event like the kubelet's about a pod of any namespace, in the tenant's namespace.
func (t *tenant) event(pod corev1.Pod, reason, message string) corev1.Event {
	now := metav1.Now()
	return corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", pod.Name, now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: t.namespace, Name: pod.Name,
			UID: pod.UID, FieldPath: "spec.containers{" + mainName + "}"},
		Reason: reason, Message: message, Type: corev1.EventTypeNormal, Count: 1,
		FirstTimestamp: now, LastTimestamp: now, ReportingController: "kubelet", ReportingInstance: layout.NodeName,
		Source: corev1.EventSource{Component: "kubelet", Host: layout.NodeName},
	}
}

// createEvent creates an Event.
func (t *attackRun) createEvent(ctx context.Context, event corev1.Event) {
	t.count(ctx, t.kube.Create(ctx, t.path("events"), event))
}

// create creates a pod.
func (t *attackRun) create(ctx context.Context, name string, annotations, labels map[string]string,
	spec corev1.PodSpec) {
	meta := metav1.ObjectMeta{Name: name, Annotations: annotations, Labels: labels}
	t.count(ctx, t.kube.Create(ctx, t.path("pods"), corev1.Pod{ObjectMeta: meta, Spec: spec}))
}

// path is the path of the tenant's objects.
func (t *tenant) path(resource string) string {
	return "/api/v1/namespaces/" + t.namespace + "/" + resource
}

// count counts one request. Requests that the end of the attack interrupts do not count.
func (t *attackRun) count(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var status *kube.StatusError
	switch {
	case err == nil:
		t.sent++
	case errors.As(err, &status) && status.Code/100 == 4 && status.Code != 429:
		if t.refused++; t.why == "" {
			t.why = fmt.Sprintf("%d %.120s", status.Code, status.Message)
		}
	default:
		if t.troubled++; t.why == "" {
			t.why = fmt.Sprintf("%.160s", err.Error())
		}
	}
}

// note notes the requests. Each attack must have been tried and, unless the API server may refuse it, accepted.
func (t *tenant) note(v *Verdict) {
	var sent, refused, troubled int
	for _, a := range t.attacks {
		a.mu.Lock()
		sent, refused, troubled = sent+a.sent, refused+a.refused, troubled+a.troubled
		text := fmt.Sprintf("%s: %d accepted, %d refused, %d failed", a.attack.name, a.sent, a.refused, a.troubled)
		if a.why != "" {
			text += " (" + a.why + ")"
		}
		v.Note("%s", text)
		switch {
		case a.sent+a.refused+a.troubled == 0:
			v.Problem("attack %q was never tried, so the scenario is not conclusive", a.attack.name)
		case a.sent == 0 && !a.attack.refused:
			v.Problem("attack %q: the API server accepted none of it, so the scenario is not conclusive", a.attack.name)
		}
		v.Compared++
		a.mu.Unlock()
	}
	v.Note("the tenant's requests: %d accepted, %d refused by the API server, %d failed", sent, refused, troubled)
}
