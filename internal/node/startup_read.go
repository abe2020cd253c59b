package node

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/nodestart"
)

// ProcDir is the mount point of the proc file system.
const ProcDir = "/proc"

// eventsKept is the maximum time since the boot at which the agent still requests Events. By default, the API server
// deletes Events after one hour.
const eventsKept = 50 * time.Minute

// ReadBoot reads the boot time of the machine and its boot ID. The boot time and the boot ID are the same in every
// container, unless a tool such as LXCFS replaces the proc file system. The argument "now" is the current time. If the
// boot ID is unreadable, ReadBoot omits it.
func ReadBoot(dir string, now time.Time) (nodestart.Booted, error) {
	content, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nodestart.Booted{}, fmt.Errorf("read the boot time: %w", err)
	}
	at, err := bootTime(content)
	if err != nil {
		return nodestart.Booted{}, fmt.Errorf("read the boot time in %s: %w", filepath.Join(dir, "stat"), err)
	}
	boot := nodestart.Booted{ArrivedAt: now, At: at, Resolution: time.Second}
	if id, err := os.ReadFile(filepath.Join(dir, "sys", "kernel", "random", "boot_id")); err == nil {
		boot.BootID = text(string(bytes.TrimSpace(id)))
	}
	return boot, nil
}

// bootTime returns the boot time in the line "btime" of /proc/stat. The line contains the seconds since 1970.
func bootTime(content []byte) (time.Time, error) {
	for line := range bytes.Lines(content) {
		if value, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			seconds, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 40)
			if err != nil || seconds == 0 {
				return time.Time{}, fmt.Errorf("invalid value %.40q of \"btime\": must be a number of seconds", value)
			}
			return time.Unix(int64(seconds), 0).UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("the line \"btime\" is missing")
}

// requestEvents requests the kubelet's Events about the node.
func (s *StartUp) requestEvents(ctx context.Context) (nodestart.EventsListed, error) {
	// The kubelet's Events about a node are in the namespace default, because a node has no namespace.
	events := kubeclient.Resource{Client: s.config.Events, Namespace: metav1.NamespaceDefault, Name: "events"}
	response, err := events.List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.kind": "Node", "involvedObject.name": s.config.NodeName, "source": "kubelet",
	}.AsSelector().String()})
	if err != nil {
		return nodestart.EventsListed{}, fmt.Errorf("list events: %w", err)
	}
	list, ok := response.(*corev1.EventList)
	if !ok {
		return nodestart.EventsListed{}, fmt.Errorf("list events: unexpected type %T", response)
	}
	listed := nodestart.EventsListed{ArrivedAt: s.config.Now()}
	for i := range list.Items {
		if event, ok := nodeEvent(&list.Items[i], s.config.NodeName); ok {
			listed.Events = append(listed.Events, event)
		}
	}
	return listed, nil
}

// nodeEvent converts an Event of the kubelet about its node. The Event's name consists of the node's name, a dot, and
// the time in hexadecimal nanoseconds. nodeEvent rejects Events of other components. For example, kube-proxy also
// creates an Event with the reason Starting.
func nodeEvent(e *corev1.Event, node string) (nodestart.Event, bool) {
	switch e.Reason {
	case nodestart.ReasonStarting, nodestart.ReasonRebooted, nodestart.ReasonReady, nodestart.ReasonNotReady:
	default:
		return nodestart.Event{}, false
	}
	suffix, ok := strings.CutPrefix(e.Name, node+".")
	nanos, err := strconv.ParseInt(suffix, 16, 64)
	if !ok || err != nil || nanos <= 0 || e.Source.Component != "kubelet" {
		return nodestart.Event{}, false
	}
	return nodestart.Event{Reason: strings.Clone(e.Reason), At: time.Unix(0, nanos).UTC()}, true
}
