package imagepull

import (
	"strings"
	"testing"
	"time"
)

const ns, ms = time.Nanosecond, time.Millisecond

// messageTests are the cases of TestParseMessage.
var messageTests = []struct {
	name, reason, message string
	want                  Message
}{
	{"pulling", "Pulling", `Pulling image "busybox:1.36"`,
		Message{Kind: KindPulling, Image: "busybox:1.36"}},
	{"pulled 1.36", "Pulled",
		`Successfully pulled image "r.example:5000/app:1" in 5.277s (21.038s including waiting). Image size: ` +
			`20848778 bytes.`,
		Message{Kind: KindPulled, Image: "r.example:5000/app:1", Pull: 5277 * ms, Timed: true,
			Waiting: 21038 * ms, WaitingTimed: true, Unit: ms, SizeBytes: 20848778}},
	{"pulled 1.36, minutes", "Pulled",
		`Successfully pulled image "app" in 1m2.3s (1h0m2.301s including waiting). Image size: 1 bytes.`,
		Message{Kind: KindPulled, Image: "app", Pull: 62300 * ms, Timed: true,
			Waiting: 3602301 * ms, WaitingTimed: true, Unit: ms, SizeBytes: 1}},
	{"pulled 1.36, nothing to fetch", "Pulled",
		`Successfully pulled image "app" in 0s (0s including waiting). Image size: 0 bytes.`,
		Message{Kind: KindPulled, Image: "app", Timed: true, WaitingTimed: true, Unit: ms}},
	{"pulled 1.28", "Pulled", `Successfully pulled image "app" in 950ms (951ms including waiting)`,
		Message{Kind: KindPulled, Image: "app", Pull: 950 * ms, Timed: true,
			Waiting: 951 * ms, WaitingTimed: true, Unit: ms}},
	{"pulled 1.25", "Pulled", `Successfully pulled image "app" in 1.234567891s (2.000000001s including waiting)`,
		Message{Kind: KindPulled, Image: "app", Pull: 1234567891 * ns, Timed: true,
			Waiting: 2000000001 * ns, WaitingTimed: true, Unit: ns}},
	{"pulled 1.25, microseconds", "Pulled", `Successfully pulled image "app" in 312.5µs (313µs including waiting)`,
		Message{Kind: KindPulled, Image: "app", Pull: 312500 * ns, Timed: true,
			Waiting: 313 * time.Microsecond, WaitingTimed: true, Unit: ns}},
	{"pulled 1.24: the only duration includes the queue", "Pulled", `Successfully pulled image "app" in 21.038123456s`,
		Message{Kind: KindPulled, Image: "app", Waiting: 21038123456 * ns, WaitingTimed: true, Unit: ns}},
	{"pulled, by a kubelet that prints no duration", "Pulled", `Successfully pulled image "app"`,
		Message{Kind: KindPulled, Image: "app"}},
	{"present", "Pulled", `Container image "app@sha256:00" already present on machine`,
		Message{Kind: KindAlreadyPresent, Image: "app@sha256:00"}},
	{"present 1.35", "Pulled", `Container image "app" already present on machine and can be accessed by the pod`,
		Message{Kind: KindAlreadyPresent, Image: "app", AccessChecked: true}},
	{"failed", "Failed", `Failed to pull image "app": rpc error: code = NotFound desc = "app" not found`,
		Message{Kind: KindPullFailed, Image: "app", Failure: FailureNotFound}},
	{"not a pull: the image's name is invalid", "InspectFailed",
		`Failed to apply default image tag "X": couldn't parse image name "X": invalid reference format`,
		Message{Kind: KindInvalidName, Image: "X"}},
	{"failed, combined", "Failed", `(combined from similar events): Failed to pull image "app": rpc error`,
		Message{Kind: KindPullFailed, Image: "app", Combined: true, Failure: FailureOther}},
	{"failed: the second Event of one failure", "Failed", `Error: ErrImagePull`, Message{Kind: KindOther}},
	{"failed: a container that did not start", "Failed", `Error: failed to create containerd task`,
		Message{Kind: KindOther}},
	{"back-off", "BackOff", `Back-off pulling image "app"`, Message{Kind: KindOther}},
	{"not a pull: the runtime does not respond", "InspectFailed",
		`Failed to inspect image "app": rpc error: code = Unavailable desc = connection error`,
		Message{Kind: KindInspectFailed, Image: "app"}},
	{"the same, without a name", "InspectFailed",
		`Failed to inspect image "": rpc error: code = Unavailable desc = connection error`,
		Message{Kind: KindInspectFailed}},
	{"back-off of a container", "BackOff", `Back-off restarting failed container app in pod p_ns(uid)`,
		Message{Kind: KindOther}},
	{"never", "ErrImageNeverPull", `Container image "app" is not present with pull policy of Never`,
		Message{Kind: KindOther}},
	{"escaped reference", "Pulling", `Pulling image "a\"b\\c\u00a0\xff"`,
		Message{Kind: KindPulling, Image: "a\"b\\c\u00a0\xff"}},

	{"reason and words disagree", "Pulling", `Successfully pulled image "app" in 1s`, Message{Kind: KindOther}},
	{"neither present nor pulled", "Pulled", `Container image "app" is fine`, Message{Kind: KindOther}},
	{"no quote", "Pulling", `Pulling image app`, Message{Kind: KindOther}},
	{"raw quote", "Pulling", "Pulling image `app`", Message{Kind: KindOther}},
	{"open quote", "Pulling", `Pulling image "app`, Message{Kind: KindOther}},
	{"cut right after the prefix", "Pulled", CombinedPrefix, Message{Kind: KindOther, Combined: true}},
	{"empty", "", "", Message{Kind: KindOther}},
	{"impossible durations", "Pulled", `Successfully pulled image "app" in -1s (2s including waiting)`,
		Message{Kind: KindPulled, Image: "app"}},
	{"a duration that overflows", "Pulled",
		`Successfully pulled image "app" in 2562047h47m16.854775807s (2562047h47m16.854775807s including ` +
			`waiting). Image size: 7 bytes.`,
		Message{Kind: KindPulled, Image: "app", SizeBytes: 7}},
	{"a duration of more than a year", "Pulled",
		`Successfully pulled image "app" in 1s (8760h0m1s including waiting)`,
		Message{Kind: KindPulled, Image: "app"}},
	{"waiting shorter than the pull that it includes", "Pulled",
		`Successfully pulled image "app" in 3s (2s including waiting). Image size: 7 bytes.`,
		Message{Kind: KindPulled, Image: "app", SizeBytes: 7}},
	{"cut inside the durations", "Pulled", `Successfully pulled image "app" in 3s (4s inclu`,
		Message{Kind: KindPulled, Image: "app"}},
	{"impossible size", "Pulled",
		`Successfully pulled image "app" in 3s (4s including waiting). Image size: -7 bytes.`,
		Message{Kind: KindPulled, Image: "app", Pull: 3 * time.Second, Timed: true,
			Waiting: 4 * time.Second, WaitingTimed: true, Unit: ms}},
	{"size beyond an int64", "Pulled",
		`Successfully pulled image "app" in 3s. Image size: 99999999999999999999 bytes.`,
		Message{Kind: KindPulled, Image: "app", Waiting: 3 * time.Second, WaitingTimed: true, Unit: ms}},
}

func TestParseMessage(t *testing.T) {
	for _, test := range messageTests {
		t.Run(test.name, func(t *testing.T) {
			if got := ParseMessage(test.reason, test.message); got != test.want {
				t.Errorf("ParseMessage(%q, %q)\n got %+v\nwant %+v", test.reason, test.message, got, test.want)
			}
		})
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add("Pulled",
		`Successfully pulled image "app" in 5.277s (21.038s including waiting). Image size: 20848778 bytes.`)
	f.Add("Pulled", `Container image "app" already present on machine`)
	f.Add("Failed", `(combined from similar events): Failed to pull image "a\"b": x`)
	f.Add("BackOff", `Back-off pulling image "app"`)
	f.Fuzz(func(t *testing.T, reason, message string) {
		m := ParseMessage(reason, message)
		if m.Combined != strings.HasPrefix(message, CombinedPrefix) {
			t.Errorf("combined = %t", m.Combined)
		}
		if m.Kind == KindOther && m != (Message{Kind: KindOther, Combined: m.Combined}) {
			t.Errorf("unknown message, but got %+v", m)
		}
		if m.Kind != KindPulled && (m.Timed || m.WaitingTimed || m.SizeBytes != 0) {
			t.Errorf("no pull, but durations: %+v", m)
		}
		if m.Pull < 0 || m.Waiting < m.Pull || m.SizeBytes < 0 {
			t.Errorf("impossible lengths: %+v", m)
		}
		if (m.Timed || m.WaitingTimed) != (m.Unit > 0) || m.Timed && !m.WaitingTimed {
			t.Errorf("flags disagree: %+v", m)
		}
		if !m.Timed && m.Pull != 0 || !m.WaitingTimed && m.Waiting != 0 {
			t.Errorf("absent, but not zero: %+v", m)
		}
	})
}
