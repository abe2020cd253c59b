package timeline

// Milestone is a named instant in a pod's life.
type Milestone uint8

// The milestones of the whole pod, then those of one container. Pull milestones count pull attempts, the other
// container milestones count runs.
const (
	MilestoneCreated              Milestone = iota // the API server stored the pod
	MilestoneScheduled                             // bound to the node
	MilestoneAcknowledged                          // the kubelet picked up the pod (status.startTime)
	MilestoneUnschedulable                         // a scheduler reported that no node fits
	MilestoneHeldUp                                // the kubelet reported an obstacle; counts the occurrences
	MilestoneSandboxFailed                         // a sandbox could not be created; counts the failures
	MilestoneRetryDue                              // the kubelet tried again after an obstacle
	MilestoneSandboxBegun                          // the runtime was asked for the sandbox that ran
	MilestoneSandboxImageResolved                  // the manifest of the sandbox image arrived
	MilestoneSandboxImagePulled                    // the sandbox image arrived, while the sandbox was created
	// MilestoneNetworkReady is when the sandbox container was created, after the network plugin returned.
	MilestoneNetworkReady
	MilestoneSandboxRunning  // the sandbox ran
	MilestoneContainersReady // every container ready
	MilestoneReady           // the pod ready, gates included
	MilestoneSucceeded       // every container ran to completion
	MilestoneFailed          // the pod failed, was rejected or evicted
	MilestoneDeleted         // deletion requested, or the object gone

	MilestoneInspectFailed    // the runtime did not say whether it has the image; the first time, before any pull
	MilestonePullRequested    // the kubelet requested the image; the pull queue begins
	MilestonePullStarted      // the runtime was asked to pull
	MilestonePullResolved     // the image's manifest had arrived; used if nothing else dates the pull
	MilestonePullDownloaded   // the last byte of the image had arrived
	MilestonePullFinished     // the runtime has the image
	MilestonePullFailed       // the pull failed in the runtime
	MilestoneConfigRefused    // the kubelet cannot create the container as configured; the first time
	MilestoneCreateFailed     // the kubelet or the runtime failed to create the container; the first time
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

// String returns the milestone's name in records.
func (m Milestone) String() string {
	if int(m) < len(milestoneNames) {
		return milestoneNames[m]
	}
	return "unknown"
}
