package bench

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// containerd 1 writes messages about a pod or container in a different form from containerd 2.
var (
	sandboxMetadata1 = regexp.MustCompile(
		`&PodSandboxMetadata\{Name:([^,]*),Uid:([^,]*),Namespace:([^,]*),Attempt:(\d+),\}`,
	)
	containerMetadata1 = regexp.MustCompile(`&ContainerMetadata\{Name:([^,]*),Attempt:(\d+),\}`)
	// containerd 1.6 writes exits as &TaskExit{…}
	taskExit1 = regexp.MustCompile(
		`^&TaskExit\{ContainerID:([^,]*),ID:([^,]*),Pid:(\d+),ExitStatus:(\d+),ExitedAt:([^,]*),`,
	)
)

// asContainerd2 returns a message of containerd 1 in the form of containerd 2. A message of containerd 2 stays
// unchanged.
func asContainerd2(message string) string {
	if after, exited := strings.CutPrefix(message, "received exit event "); exited {
		return "received container exit event " + exitAsContainerd2(after)
	}
	if !strings.Contains(message, "Metadata{Name:") {
		return message
	}
	message = sandboxMetadata1.ReplaceAllString(message, `name:"$1" uid:"$2" namespace:"$3" attempt:$4`)
	message = containerMetadata1.ReplaceAllString(message, `name:"$1" attempt:$2`)
	return strings.Replace(message, " attempt:0", "", 1) // containerd 2 omits the attempt number 0
}

func exitAsContainerd2(event string) string {
	m := taskExit1.FindStringSubmatch(event)
	if m == nil {
		return event
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", m[5])
	if err != nil {
		return event
	}
	return fmt.Sprintf("container_id:%q id:%q pid:%s exit_status:%s exited_at:{seconds:%d nanos:%d}", m[1], m[2], m[3],
		m[4], at.Unix(), at.Nanosecond())
}
