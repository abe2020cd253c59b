package timeline

// Milestone is a named instant in a pod's life.
type Milestone uint8

// The milestones of the whole pod come first, followed by the milestones of one container. The attempt number counts
// pulls for three kinds of milestones: the pull milestones, MilestoneNameRefused, and MilestoneInspectFailed. For all
// other milestones of a container, the attempt number counts runs of the container. For MilestoneHeldUp and
// MilestoneRetryDue, the attempt number counts obstacles. For MilestoneSandboxFailed, the attempt number counts failed
// sandboxes. MilestoneContainersReady has the attempt number 0 when all containers became ready for the first time. It
// has the attempt number 1 when all containers became ready again, for the last time before the pod was ready.
const (
	MilestoneCreated              Milestone = iota // the API server stored the pod
	MilestoneScheduled                             // the pod was bound to the node
	MilestoneAcknowledged                          // the kubelet picked up the pod (status.startTime)
	MilestoneUnschedulable                         // a scheduler reported that no node fits
	MilestoneHeldUp                                // the kubelet reported an obstacle to the creation of the sandbox
	MilestoneSandboxFailed                         // the runtime or the kubelet failed to create a sandbox
	MilestoneRetryDue                              // after an obstacle, the kubelet's next attempt was due
	MilestoneSandboxBegun                          // the kubelet requested the sandbox that ran
	MilestoneSandboxImageResolved                  // the manifest of the sandbox image arrived on the node
	MilestoneSandboxImagePulled                    // the sandbox image was pulled during the creation of the sandbox
	// MilestoneNetworkReady is the end of the sandbox's network setup (Sandbox.NetworkReadyAt).
	MilestoneNetworkReady
	MilestoneSandboxRunning  // the sandbox ran
	MilestoneContainersReady // every container was ready
	MilestoneReady           // the pod was ready, including its readiness gates
	MilestoneSucceeded       // every container ran to completion
	MilestoneFailed          // the pod failed, was rejected, or was evicted
	MilestoneDeleted         // a client requested the deletion, or the object was gone

	// MilestoneNameRefused is the first time that the kubelet could not parse the image's name. The kubelet parses the
	// name before it attempts the pull.
	MilestoneNameRefused
	// MilestoneInspectFailed is the first time that the runtime could not report whether it has the image. The kubelet
	// asks the runtime before it attempts the pull.
	MilestoneInspectFailed
	MilestonePullRequested    // the kubelet requested the image; the wait in the pull queue begins
	MilestonePullStarted      // the kubelet requested the pull from the runtime
	MilestonePullResolved     // the image's manifest had arrived; absent if an Event contains the pull's duration
	MilestonePullDownloaded   // the last byte of the image had arrived
	MilestonePullFinished     // the runtime has the image
	MilestonePullFailed       // the pull failed in the runtime
	MilestoneConfigRefused    // the first time that the kubelet could not create the container as configured
	MilestoneCreateFailed     // the first time that the kubelet or the runtime failed to create the container
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
	"name_refused", "inspect_failed", "pull_requested", "pull_started", "pull_resolved", "pull_downloaded",
	"pull_finished", "pull_failed",
	"config_refused", "create_failed", "container_created", "running", "finished", "post_started", "started",
	"container_ready",
}

// String returns the name of the milestone in records.
func (m Milestone) String() string {
	if int(m) < len(milestoneNames) {
		return milestoneNames[m]
	}
	return "unknown"
}
