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

// Limits of an attack. An attack consists of rounds (see runAttacks), and takes place during one block (see
// honestBlock).
const (
	attacksAtOnce = 2  // number of attacks that run at the same time
	roundsAtMost  = 20 // maximum number of rounds in one block
	// minimum number of rounds in one block; some attacks change objects that earlier rounds created
	roundsAtLeast = 3
	roundEvery    = 2 * time.Second // minimum time between the starts of two rounds
)

// invention is a word in every name that the tenant invents in Events. The agent's reports about other tenants' pods
// must not contain this word.
const invention = "mallory"

// tenant is a client with the built-in role "edit" in one namespace.
type tenant struct {
	bench     *bench.Bench // source of names, UIDs and images of other tenants' pods; a real tenant can know them
	namespace string
	kube      *kube.Client // client with the tenant's token
	attacks   []*attackRun
	absent    string // image that is in the registry but not on the node

	mu      sync.Mutex
	rounds  int // number of completed rounds of the current attack
	baits   []corev1.Pod
	victims []corev1.Pod
}

// hostileAttack is one kind of attack. The tenant repeats the attack in several rounds.
type hostileAttack struct {
	name    string
	rounds  int  // the attack runs only in this number of rounds at the start of a block; 0 means all rounds
	refused bool // true if the API server is allowed to refuse all requests of the attack
	try     func(ctx context.Context, t *attackRun)
}

// attackRun runs one attack and counts its results.
type attackRun struct {
	*tenant
	attack hostileAttack
	round  int // number of the round in the block, counted from 0

	mirrored map[types.UID]bool // UIDs of other tenants' pods; the tenant sent a mirror pod for each of them

	mu                      sync.Mutex
	sent, refused, troubled int
	why                     string // reason for the first refused or failed request
}

// newTenant creates a namespace, and an account with the role "edit" in this namespace. newTenant also pushes an image
// to the registry. The node does not have this image.
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
		return nil, errors.Join(err, t.deleteObjects(ctx))
	}
	token, err := b.AccountToken(ctx, t.namespace, account)
	if err == nil {
		t.kube, err = b.Node.KubeAs(token, nil)
	}
	if err == nil {
		t.absent, err = b.Image(ctx, "absent", smallLayer)
	}
	if err != nil {
		return nil, errors.Join(err, t.deleteObjects(ctx))
	}
	for _, attack := range hostileAttacks() {
		t.attacks = append(t.attacks, &attackRun{tenant: t, attack: attack, mirrored: make(map[types.UID]bool)})
	}
	return t, nil
}

// rbacRoot is the path of the RBAC API on the API server.
const rbacRoot = "/apis/rbac.authorization.k8s.io/v1"

// deleteObjects uses the administrator's permissions to delete all objects of the tenant.
func (t *tenant) deleteObjects(ctx context.Context) error {
	if t.kube != nil {
		t.kube.Close()
	}
	return t.bench.Kube.DeleteNamespace(ctx, t.bench.Node.Report, t.namespace)
}

// runAttacks runs one round of attacks after another. Each round runs the attacks in the list. If an attack's field
// "rounds" is not 0, the attack runs only in the first rounds, and the field contains the number of these rounds.
// runAttacks stops when ctx ends, or after roundsAtMost rounds.
func (t *tenant) runAttacks(ctx context.Context) error {
	t.mu.Lock()
	t.rounds = 0
	t.mu.Unlock()
	if err := t.createWaitingPods(ctx); err != nil {
		return err
	}
	for round := range roundsAtMost {
		next := time.After(roundEvery)
		if err := t.listPods(ctx); err != nil {
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

// awaitRounds waits until roundsAtLeast rounds of the attack are complete. If the attack ends earlier, awaitRounds
// fails.
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
	return errors.New("attack the agent: the attack ended after too few rounds, because the API server was too " +
		"slow: the scenario is not conclusive")
}

// listPods lists the tenant's own pods with the tenant's token. listPods lists the other tenants' pods with the
// administrator's permissions.
func (t *tenant) listPods(ctx context.Context) error {
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

// ownPods returns the tenant's own pods that never start. The method "others" returns the other tenants' pods.
func (t *tenant) ownPods() []corev1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.baits
}

func (t *tenant) others() []corev1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.victims
}

// targets returns the images of the other tenants' pods.
func (t *tenant) targets() (images []string) {
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

// forge returns an Event in the tenant's namespace that looks like the kubelet's Event about a pod. The pod can
// be in any namespace.
func (t *tenant) forge(pod corev1.Pod, reason, message string) corev1.Event {
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

func (t *attackRun) createEvent(ctx context.Context, event corev1.Event) {
	t.countRequest(ctx, t.kube.Create(ctx, t.apiPath("events"), event))
}

func (t *attackRun) create(ctx context.Context, name string, annotations, labels map[string]string,
	spec corev1.PodSpec) {
	meta := metav1.ObjectMeta{Name: name, Annotations: annotations, Labels: labels}
	t.countRequest(ctx, t.kube.Create(ctx, t.apiPath("pods"), corev1.Pod{ObjectMeta: meta, Spec: spec}))
}

// apiPath returns the API server's path of a resource in the tenant's namespace.
func (t *tenant) apiPath(resource string) string {
	return "/api/v1/namespaces/" + t.namespace + "/" + resource
}

// countRequest counts one request as accepted, refused or failed. countRequest ignores a request that failed because
// the attack ended.
func (t *attackRun) countRequest(ctx context.Context, err error) {
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

// addToVerdict adds the numbers of requests to the verdict. The tenant must have tried each attack in the list. If an
// attack's field "refused" is false, the API server must have accepted at least one request of the attack.
func (t *tenant) addToVerdict(v *Verdict) {
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
			v.Problem("attack %q was never tried: the scenario is not conclusive", a.attack.name)
		case a.sent == 0 && !a.attack.refused:
			v.Problem("attack %q: the API server accepted no request, want at least one: the scenario is not "+
				"conclusive", a.attack.name)
		}
		v.Compared++
		a.mu.Unlock()
	}
	v.Note("the tenant's requests: %d accepted, %d refused by the API server, %d failed", sent, refused, troubled)
}
