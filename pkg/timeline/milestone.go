package timeline

// Milestone is a named instant in a pod's life.
type Milestone uint8

// The milestones of the whole pod come first, then the milestones of one container. The attempt of a pull
// milestone counts pulls. The attempt of any other container milestone counts runs.
const (
	MilestoneCreated              Milestone = iota // the API server stored the pod
	MilestoneScheduled                             // the pod was bound to the node
	MilestoneAcknowledged                          // the kubelet picked up the pod (status.startTime)
	MilestoneUnschedulable                         // a scheduler reported that no node fits
	MilestoneHeldUp                                // the kubelet reported an obstacle; the attempt counts the reports
	MilestoneSandboxFailed                         // creating a sandbox failed; the attempt counts the failures
	MilestoneRetryDue                              // the kubelet tried again after an obstacle
	MilestoneSandboxBegun                          // the kubelet asked the runtime for the sandbox that ran
	MilestoneSandboxImageResolved                  // the manifest of the sandbox image arrived
	MilestoneSandboxImagePulled                    // the sandbox image was complete, during the creation of the sandbox
	// MilestoneNetworkReady is the creation of the sandbox container, after the network plugin returned.
	MilestoneNetworkReady
	MilestoneSandboxRunning  // the sandbox ran
	MilestoneContainersReady // every container was ready
	MilestoneReady           // the pod was ready, including its readiness gates
	MilestoneSucceeded       // every container ran to completion
	MilestoneFailed          // the pod failed, was rejected, or was evicted
	MilestoneDeleted         // a client requested the deletion, or the object was gone

	// MilestoneInspectFailed is the first failure of the runtime to report whether it has the image, before any
	// pull.
	MilestoneInspectFailed
	MilestonePullRequested    // the kubelet requested the image; the pull queue begins
	MilestonePullStarted      // the kubelet asked the runtime to pull the image
	MilestonePullResolved     // the image's manifest had arrived; used only if no other evidence dates the pull
	MilestonePullDownloaded   // the last byte of the image had arrived
	MilestonePullFinished     // the runtime has the image
	MilestonePullFailed       // the pull failed in the runtime
	MilestoneConfigRefused    // the kubelet could not create the container as configured, for the first time
	MilestoneCreateFailed     // the kubelet or the runtime failed to create the container, for the first time
	MilestoneContainerCreated // the runtime created the container
	MilestoneRunning          // the container's process is running
	MilestoneFinished         // the container's process ended
	MilestonePostStarted      // the post-start hook ended
	MilestoneStarted          // the startup probe passed
	MilestoneContainerReady   // the readiness probe passed
)

var milestoneNames = [...]string{
	"created", "scheduled", "acknowledged", "unschedulable", "held_up", "sandbox_failed", "retry_due", "sandbox_begun",
	"sandbox_image_resolved", "sandbox_image_pulled", "network_ready", "sandbox_running",
	"containers_ready", "ready", "succeeded", "failed", "deleted",
	"inspect_failed", "pull_requested", "pull_started", "pull_resolved", "pull_downloaded", "pull_finished",
	"pull_failed",
	"config_refused", "create_failed", "container_created", "running", "finished", "post_started", "started",
	"container_ready",
}

// String returns the milestone's name that records use.
func (m Milestone) String() string {
	if int(m) < len(milestoneNames) {
		return milestoneNames[m]
	}
	return "unknown"
}
