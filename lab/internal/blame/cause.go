package blame

// Cause names the party that is responsible for a part of a start-up, for example "registry". The agent's records use
// the same names.
type Cause = string

// All causes that the agent can report.
const (
	Scheduler Cause = "scheduler"
	Placement Cause = "placement" // no node fits, or the scheduler waits for a missing object
	Gate      Cause = "gate"
	Kubelet   Cause = "kubelet"
	Config    Cause = "config"
	APIServer Cause = "api_server"
	Volumes   Cause = "volumes"
	Device    Cause = "device"
	Network   Cause = "network"
	Runtime   Cause = "runtime"
	PullQueue Cause = "pull_queue"
	Registry  Cause = "registry"
	Disk      Cause = "disk"
	Backoff   Cause = "backoff"
	App       Cause = "app"
	Unknown   Cause = "unknown"
)

// causeOf maps each phase to its cause, as documented in docs/architecture.md. A phase that is missing from the table
// has no cause.
var causeOf = map[string]Cause{
	"scheduling": Scheduler, "scheduling_gate": Gate, "unschedulable": Placement,
	"kubelet_pickup": Kubelet, "kubelet_sync": Kubelet, "api_server": APIServer,
	"pod_config": Config, "container_config": Config, "volumes": Volumes, "device": Device,
	"network": Network, "sandbox_image": Registry, "sandbox": Runtime, "sandbox_lost": Runtime,
	"pull_queue": PullQueue, "pull": Registry, "unpack": Disk,
	"container_create": Runtime, "container_start": Runtime,
	"image_backoff": Backoff, "crash_backoff": Backoff,
	"init_run": App, "post_start_hook": App, "failed_run": App, "startup_probe": App, "readiness_probe": App,
	"readiness_gates": Gate, "unattributed": Unknown,
	"sandbox_setup": "sandbox_setup", "image_pull": "image_pull",
}
