package critest

import (
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Sandbox is a pod sandbox of the fake runtime.
type Sandbox struct {
	ID, PodUID string
	Attempt    uint32
	NotReady   bool
	CreatedAt  time.Time // field created_at in CRI; a zero time becomes 0 nanoseconds
}

// Container is a container of the fake runtime. If FinishedAt is set, the container has exited. If StartedAt is set
// and FinishedAt is zero, the container is running.
type Container struct {
	ID, SandboxID, PodUID, Name      string
	Restarts                         int
	CreatedAt, StartedAt, FinishedAt time.Time
	ExitCode                         int32
	Reason                           string
}

// PutSandbox adds or replaces a sandbox.
func (r *Runtime) PutSandbox(s Sandbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := runtimeapi.PodSandboxState_SANDBOX_READY
	if s.NotReady {
		state = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	}
	r.sandboxes[s.ID] = &runtimeapi.PodSandbox{
		Id: s.ID, State: state, CreatedAt: nanos(s.CreatedAt),
		Metadata: &runtimeapi.PodSandboxMetadata{Uid: s.PodUID, Attempt: s.Attempt},
		Labels:   map[string]string{"io.kubernetes.pod.uid": s.PodUID},
	}
}

// PutContainer adds or replaces a container.
func (r *Runtime) PutContainer(c Container) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := runtimeapi.ContainerState_CONTAINER_CREATED
	switch {
	case !c.FinishedAt.IsZero():
		state = runtimeapi.ContainerState_CONTAINER_EXITED
	case !c.StartedAt.IsZero():
		state = runtimeapi.ContainerState_CONTAINER_RUNNING
	}
	r.containers[c.ID] = &runtimeapi.ContainerStatus{
		Id: c.ID, State: state, ExitCode: c.ExitCode, Reason: c.Reason,
		CreatedAt: nanos(c.CreatedAt), StartedAt: nanos(c.StartedAt), FinishedAt: nanos(c.FinishedAt),
		Metadata:    &runtimeapi.ContainerMetadata{Name: c.Name, Attempt: uint32(c.Restarts)},
		Labels:      map[string]string{"io.kubernetes.pod.uid": c.PodUID, "io.kubernetes.container.name": c.Name},
		Annotations: map[string]string{"io.kubernetes.container.restartCount": strconv.Itoa(c.Restarts)},
	}
	r.owners[c.ID] = c.SandboxID
}

// RemoveContainer removes a container.
func (r *Runtime) RemoveContainer(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.containers, id)
}

// PutImage adds an image that clients can find over CRI by its reference.
func (r *Runtime) PutImage(ref string, size uint64, repoDigests ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[ref] = &runtimeapi.Image{Id: "sha256:" + ref, Size: size, RepoTags: []string{ref},
		RepoDigests: repoDigests}
}

// StoreSandbox sets the timestamps of a sandbox in containerd's sandbox store.
func (r *Runtime) StoreSandbox(id string, stamps Stamps) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored[id] = stamps
}

// StoreContainer adds a container to containerd's container store.
func (r *Runtime) StoreContainer(id string, record Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[id] = record
}

// StoreImage adds an image to containerd's image store under its full name.
func (r *Runtime) StoreImage(name string, image Stored) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pulled[name] = image
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
