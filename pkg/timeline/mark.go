package timeline

// Mark is a named instant in a pod's life.
type Mark uint8

// The marks of the whole pod, then those of one container. Pull marks count pull attempts, the other container marks
// count runs.
const (
	MarkCreated              Mark = iota // the API server stored the pod
	MarkScheduled                        // bound to the node
	MarkAcknowledged                     // the kubelet picked up the pod (status.startTime)
	MarkUnschedulable                    // a scheduler reported that no node fits
	MarkHeldUp                           // the kubelet reported why it creates no sandbox yet; counts the occurrences
	MarkSandboxFailed                    // a sandbox could not be created; counts the failures
	MarkRetryDue                         // the kubelet tried again after it was held up
	MarkSandboxBegun                     // the runtime was asked for the sandbox that ran
	MarkSandboxImageResolved             // the manifest of the sandbox image arrived, while the sandbox was created
	MarkSandboxImagePulled               // the sandbox image arrived, while the sandbox was created
	MarkNetworkReady                     // the sandbox container was created, after the network plugin returned
	MarkSandboxRunning                   // the sandbox ran
	MarkContainersReady                  // every container ready
	MarkReady                            // the pod ready, gates included
	MarkSucceeded                        // every container ran to completion
	MarkFailed                           // the pod failed, was rejected or evicted
	MarkDeleted                          // deletion requested, or the object gone

	MarkInspectFailed    // the runtime did not say whether it has the image; the first time, before any pull
	MarkPullRequested    // the kubelet requested the image; the pull queue begins
	MarkPullStarted      // the runtime was asked to pull
	MarkPullResolved     // the image's manifest had arrived; used if nothing else dates the pull
	MarkPullDownloaded   // the last byte of the image had arrived
	MarkPullFinished     // the runtime has the image
	MarkPullFailed       // the pull failed in the runtime
	MarkConfigRefused    // the kubelet cannot create the container as configured; the first time
	MarkCreateFailed     // the kubelet or the runtime failed to create the container; the first time
	MarkContainerCreated // the runtime created the container
	MarkRunning          // the container's process is running
	MarkFinished         // the container's process ended
	MarkPostStarted      // the post-start hook ended
	MarkStarted          // the startup probe passed
	MarkContainerReady   // the readiness probe passed
)

var markNames = [...]string{
	"created", "scheduled", "acknowledged", "unschedulable", "held_up", "sandbox_failed", "retry_due", "sandbox_begun",
	"sandbox_image_resolved", "sandbox_image_pulled", "network_ready", "sandbox_running",
	"containers_ready", "ready", "succeeded", "failed", "deleted",
	"inspect_failed", "pull_requested", "pull_started", "pull_resolved", "pull_downloaded", "pull_finished", "pull_failed",
	"config_refused", "create_failed", "container_created", "running", "finished", "post_started", "started",
	"container_ready",
}

// String returns the mark's name in records.
func (m Mark) String() string {
	if int(m) < len(markNames) {
		return markNames[m]
	}
	return "unknown"
}
