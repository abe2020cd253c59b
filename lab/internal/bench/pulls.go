package bench

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// Attempt is one attempt of the kubelet to pull an image for a container or an image volume. The times are from the
// logs of the kubelet, containerd and the registry.
type Attempt struct {
	Pod, Container string // Container is empty for an image volume
	Number         int    // number of earlier attempts for the same container or volume of the pod
	RequestedAt    time.Time
	Call           PullCall  // the kubelet's call to the runtime
	ReportedAt     time.Time // time when the kubelet reported the end of the attempt
	ResolvedAt     time.Time // time when the registry finished sending the first manifest; zero if it sent none
	// RegistryTime is the period from the node's first request to the registry's last byte, according to the registry's
	// log. RegistryTime is zero if the registry received no request.
	RegistryTime Span
	// StoredAt is the time when containerd had verified and stored all configuration and layers that the registry sent.
	// This time is from the files in containerd's content store. StoredAt is zero if the registry sent neither
	// configuration nor layers. StoredAt is also zero if containerd did not store all of this data during the call.
	StoredAt time.Time
	// Blobs is the number of containerd's downloads of configuration and layers, and BlobBytes is their total size.
	// Blobs and BlobBytes exclude the requests of a lazy snapshotter, which has its own HTTP client.
	Blobs     int
	BlobBytes int64
	Bytes     int64 // all bytes that the registry sent
	// Hit is true if a fault of the registry interrupted a response or refused a request. If the registry refuses a
	// request because of missing or wrong credentials, this refusal is not a fault.
	Hit    bool
	Direct bool // true if a request for configuration or layers went to the registry itself, not to the mirror
}

// PullCollector collects the pull attempts since the call of CollectPulls.
type PullCollector struct {
	bench   *Bench
	kubelet *EventLog
	Runtime *PullLog
}

// CollectPulls starts to collect the pull attempts of the bench's pods.
func (b *Bench) CollectPulls() (*PullCollector, error) {
	kubelet, err := b.OpenEventLog()
	if err != nil {
		return nil, err
	}
	runtime, err := b.OpenPullLog()
	if err != nil {
		return nil, err
	}
	return &PullCollector{bench: b, kubelet: kubelet, Runtime: runtime}, nil
}

// Events returns the Events that the kubelet has created about the bench's pods.
func (w *PullCollector) Events() ([]KubeletEvent, error) { return w.kubelet.All() }

// Attempts returns the completed attempts of all pods to pull the given image. The attempts are in the order in which
// they ended. The runtime's log does not contain the pod of a pull. Therefore, Attempts reads the pod from the
// kubelet's Event about the end of the pull.
func (w *PullCollector) Attempts(ctx context.Context, reference string) ([]Attempt, error) {
	events, err := w.kubelet.All()
	if err != nil {
		return nil, err
	}
	calls, err := w.Runtime.Of(reference)
	if err != nil {
		return nil, err
	}
	attempts := attemptsIn(events, reference)
	calls = Ended(calls)
	if len(calls) != len(attempts) {
		return nil, fmt.Errorf("compare the pulls of %s: the kubelet reports %d pulls, but containerd reports %d",
			reference, len(attempts),
			len(calls))
	}
	accesses, err := w.accesses(ctx, reference)
	if err != nil {
		return nil, err
	}
	assignCalls(attempts, calls)
	for i := range attempts {
		attempts[i].addRequests(accesses)
		if err := attempts[i].readStore(accesses, w.bench.Node.ContentStoredAt); err != nil {
			return nil, err
		}
	}
	return attempts, nil
}

// assignCalls assigns one call to each attempt. The attempts are in the order in which the kubelet reported their ends.
// For concurrent calls, containerd's log does not show which start and which end belong together. assignCalls assumes
// that containerd started concurrent calls in the order of the kubelet's requests.
func assignCalls(attempts []Attempt, calls []PullCall) {
	slices.SortStableFunc(calls, func(a, b PullCall) int { return a.EndAt.Compare(b.EndAt) })
	overlap := false
	for i := range calls {
		attempts[i].Call = calls[i]
		overlap = overlap || i > 0 && calls[i].StartAt.Before(calls[i-1].EndAt)
	}
	if !overlap {
		return
	}
	slices.SortStableFunc(calls, func(a, b PullCall) int { return a.StartAt.Compare(b.StartAt) })
	requested := make([]*Attempt, len(attempts))
	for i := range attempts {
		requested[i] = &attempts[i]
	}
	slices.SortStableFunc(requested, func(a, b *Attempt) int { return a.RequestedAt.Compare(b.RequestedAt) })
	for i, a := range requested {
		a.Call.StartAt = calls[i].StartAt
	}
}

// attemptsIn pairs each Event about the end of a pull with the Event about the start of the same pull.
func attemptsIn(events []KubeletEvent, reference string) []Attempt {
	type whose struct{ pod, container string }
	requested := make(map[whose]time.Time)
	var attempts []Attempt
	for _, event := range events {
		key := whose{event.Pod, event.Container}
		switch {
		case event.Message == fmt.Sprintf("Pulling image %q", reference):
			requested[key] = event.At
		case strings.HasPrefix(event.Message, fmt.Sprintf("Successfully pulled image %q", reference)),
			strings.HasPrefix(event.Message, fmt.Sprintf("Failed to pull image %q", reference)):
			attempts = append(attempts, Attempt{Pod: event.Pod, Container: event.Container, RequestedAt: requested[key],
				ReportedAt: event.At})
		}
	}
	slices.SortStableFunc(attempts, func(a, b Attempt) int {
		return cmp.Compare(a.ReportedAt.UnixNano(), b.ReportedAt.UnixNano())
	})
	return attempts
}

// accesses returns the requests for an image that are in the registry's log, except the requests of the lab's own
// pushes.
func (w *PullCollector) accesses(ctx context.Context, reference string) ([]registry.Access, error) {
	rest, ours := strings.CutPrefix(reference, layout.Address(layout.RegistryPort)+"/")
	if !ours {
		return nil, nil
	}
	repository := rest[:strings.IndexAny(rest, ":@")]
	log, err := w.bench.Registry.Log(ctx, repository)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(log, func(a registry.Access) bool { return strings.HasPrefix(a.Client, image.Pusher) }),
		nil
}

// addRequests adds the data of the registry's requests that started during this attempt. If several attempts were in
// progress when a request started, the request counts for each of these attempts.
func (a *Attempt) addRequests(accesses []registry.Access) {
	for _, access := range accesses {
		if !a.contains(access.StartAt) {
			continue
		}
		first(&a.RegistryTime.StartAt, access.StartAt)
		if access.StartAt.Before(a.RegistryTime.StartAt) {
			a.RegistryTime.StartAt = access.StartAt
		}
		if access.LastByteAt.After(a.RegistryTime.EndAt) {
			a.RegistryTime.EndAt = access.LastByteAt
		}
		if access.Kind == registry.KindManifest && access.Method == http.MethodGet && access.Status == http.StatusOK &&
			(a.ResolvedAt.IsZero() || access.LastByteAt.Before(a.ResolvedAt)) {
			a.ResolvedAt = access.LastByteAt
		}
		a.Bytes += access.Bytes
		if access.Kind == registry.KindBlob && strings.HasPrefix(access.Client, "containerd/") {
			a.Blobs++
			a.BlobBytes += access.Bytes
		}
		if access.Kind == registry.KindBlob {
			a.Direct = a.Direct || access.Host != layout.Address(layout.NodeMirrorPort)
		}
		a.Hit = a.Hit || access.Failure != "" || access.Status >= 400 && !access.Anonymous
	}
}

// contains reports whether a time is within the attempt's call.
func (a *Attempt) contains(at time.Time) bool {
	// For the same event, the time in containerd's log and the time in another source differ by at most this duration.
	const skew = 2 * time.Millisecond
	return !at.Before(a.Call.StartAt.Add(-skew)) && !at.After(a.Call.EndAt.Add(skew))
}

// readStore sets the field StoredAt. The function "storedAt" returns the time when containerd stored the content with
// the given digest. If containerd does not have this content, "storedAt" returns the zero time.
func (a *Attempt) readStore(accesses []registry.Access, storedAt func(digest string) (time.Time, error)) error {
	var last time.Time
	for _, access := range accesses {
		if access.Kind != registry.KindBlob || access.Bytes == 0 || !a.contains(access.StartAt) {
			continue
		}
		at, err := storedAt(access.Reference)
		if err != nil {
			return err
		}
		if !a.contains(at) {
			return nil
		}
		if at.After(last) {
			last = at
		}
	}
	a.StoredAt = last
	return nil
}

// Pull returns the period of the pull. Usually, this period is from the registry's log, and "byRegistry" is true. If
// the registry received no request, the period is from the runtime's log. The period is also from the runtime's log if
// the runtime's period exceeds the registry's period by more than the duration "besides".
func (a Attempt) Pull(besides time.Duration) (pull Span, byRegistry bool) {
	if a.RegistryTime.StartAt.IsZero() || a.Call.Length()-a.RegistryTime.Length() > besides {
		return a.Call.Span, false
	}
	return a.RegistryTime, true
}

// Unpacked returns the time from the registry's last byte until the end of the runtime's call. If the registry received
// no request, Unpacked returns zero.
func (a Attempt) Unpacked() time.Duration {
	if a.RegistryTime.EndAt.IsZero() {
		return 0
	}
	return a.Call.EndAt.Sub(a.RegistryTime.EndAt)
}

// Storing returns the time from the registry's last byte until containerd had verified and stored all content. If this
// time is unknown, Storing returns zero.
func (a Attempt) Storing() time.Duration {
	if a.StoredAt.IsZero() {
		return 0
	}
	return max(0, a.StoredAt.Sub(a.RegistryTime.EndAt))
}

// Failed returns true if the attempt failed.
func (a Attempt) Failed() bool { return a.Call.Failed != "" }

// Of returns the attempts for one container of a pod. If the argument "container" is empty, Of returns the attempts
// for the pod's image volumes.
func Of(attempts []Attempt, pod, container string) (mine []Attempt) {
	for _, a := range attempts {
		if a.Pod == pod && a.Container == container {
			a.Number = len(mine)
			mine = append(mine, a)
		}
	}
	return mine
}
