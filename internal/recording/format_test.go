package recording

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// formatTests are the cases of TestFormat.
var formatTests = []struct {
	o    timeline.Observation
	want string
}{
	{
		timeline.PodGone{UID: "u", ArrivedAt: noon.In(time.FixedZone("", 3600)), Live: true},
		`{"kind":"pod_gone","uid":"u","arrived_at":"2026-03-01T13:00:00+01:00","live":true}`,
	},
	{
		timeline.PodSeen{ArrivedAt: noon.Add(time.Nanosecond), Pod: timeline.Pod{
			UID: "u", RuntimeUID: "r", Namespace: "shop", Name: "web-0", Node: "node-a",
			Owner: timeline.Owner{Kind: "CronJob", Name: "c"},
			Traits: &timeline.Traits{
				Controller: timeline.Owner{Kind: "Job", Name: "c-1"}, QOSClass: "Burstable", PriorityClass: "high",
				RuntimeClass: "gvisor",
				App: timeline.AppLabels{Component: "db", Instance: "i", ManagedBy: "helm", Name: "n",
					PartOf: "shop", Version: "1"},
			},
			Revision: "7d4b", TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			CreatedAt: noon, ReadAt: noon, AcknowledgedAt: noon, DeletedAt: noon, DeletionGrace: 30 * time.Second,
			DeletionObserved: true, Finalizers: true, Disruption: "PreemptionByScheduler", Phase: "Pending",
			Reason:     "Evicted",
			Conditions: []timeline.Condition{{Type: "Ready", True: true, TransitionAt: noon}}, ReadinessGates: true,
			Generation: 2, KubeletGeneration: 1, UnschedulableAt: noon, FieldsManaged: true, FailedBy: noon,
			HostNetwork: true, ResourceClaims: true, VolumeClaims: true, RemoteVolumes: true,
			PullSecrets: true, ScheduledByKubelet: true,
			Containers: []timeline.Container{
				{
					Name: "app", Kind: timeline.KindMain, Image: "web:2", PullPolicy: timeline.PullAlways,
					StartupProbe:   true,
					ReadinessProbe: true, LivenessProbe: true, PostStartHook: true, PreStopHook: true,
					MemoryLimited: true, RestartsAlways: true, RestartsNever: true,
					StartupTiming:   timeline.ProbeTiming{InitialDelay: 1, Period: 2, Timeout: 3, Successes: 4},
					ReadinessTiming: timeline.ProbeTiming{InitialDelay: 5, Period: 6, Timeout: 7, Successes: 8},
					State:           timeline.StateTerminated, WaitingReason: "Why", PullFailure: "dns", Attempt: 1,
					StartedAt: noon, FinishedAt: noon, ExitCode: 2, EndReason: "Error", Started: true, Ready: true,
					LastRun: &timeline.Run{FinishedAt: noon, ExitCode: 3, Reason: "OOMKilled"},
				},
				{Name: "bare"},
			},
		}},
		`{"kind":"pod_seen","arrived_at":"2026-03-01T12:00:00.000000001Z","pod":{"uid":"u","runtime_uid":"r",` +
			`"namespace":"shop","name":"web-0","node":"node-a","owner":{"kind":"CronJob","name":"c"},` +
			`"traits":{"controller":{"kind":"Job","name":"c-1"},"qos_class":"Burstable","priority_class":"high",` +
			`"runtime_class":"gvisor","app":{"component":"db","instance":"i","managed_by":"helm","name":"n",` +
			`"part_of":"shop","version":"1"}},"created_at":"2026-03-01T12:00:00Z",` +
			`"read_at":"2026-03-01T12:00:00Z","acknowledged_at":"2026-03-01T12:00:00Z",` +
			`"deleted_at":"2026-03-01T12:00:00Z","deletion_grace":30000000000,"deletion_observed":true,` +
			`"finalizers":true,"disruption":"PreemptionByScheduler",` +
			`"phase":"Pending","reason":"Evicted","conditions":[{"type":"Ready","true":true,` +
			`"transition_at":"2026-03-01T12:00:00Z"}],"readiness_gates":true,"generation":2,` +
			`"kubelet_generation":1,"unschedulable_at":"2026-03-01T12:00:00Z","fields_managed":true,` +
			`"scheduled_by_kubelet":true,"failed_by":"2026-03-01T12:00:00Z",` +
			`"host_network":true,"resource_claims":true,"volume_claims":true,"remote_volumes":true,` +
			`"pull_secrets":true,` +
			`"revision":"7d4b","trace_parent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` +
			`"containers":[{"name":"app","kind":"main","image":"web:2","pull_policy":"Always",` +
			`"startup_probe":true,"readiness_probe":true,"liveness_probe":true,"post_start_hook":true,` +
			`"pre_stop_hook":true,` +
			`"startup_timing":{"initial_delay":1,"period":2,"timeout":3,"successes":4},` +
			`"readiness_timing":{"initial_delay":5,"period":6,"timeout":7,"successes":8},` +
			`"memory_limited":true,"restarts_always":true,"restarts_never":true,` +
			`"state":"terminated","waiting_reason":"Why","pull_failure":"dns","attempt":1,` +
			`"started_at":"2026-03-01T12:00:00Z","finished_at":"2026-03-01T12:00:00Z","exit_code":2,` +
			`"end_reason":"Error","started":true,"ready":true,"last_run":{"finished_at":"2026-03-01T12:00:00Z",` +
			`"exit_code":3,"reason":"OOMKilled"}},{"name":"bare"}]}}`,
	},
	{
		timeline.EventSeen{
			UID: "u", ArrivedAt: noon, Live: true, Container: "app", Reason: "Pulling", Message: `<"a" & b>`,
			NamedAt: noon.Add(1500 * time.Microsecond), FirstAt: noon, LastAt: noon, StoredAt: noon, Count: 2,
		},
		`{"kind":"event_seen","uid":"u","arrived_at":"2026-03-01T12:00:00Z","live":true,"container":"app",` +
			`"reason":"Pulling","message":"<\"a\" & b>","named_at":"2026-03-01T12:00:00.0015Z",` +
			`"first_at":"2026-03-01T12:00:00Z","last_at":"2026-03-01T12:00:00Z",` +
			`"stored_at":"2026-03-01T12:00:00Z","count":2}`,
	},
	{
		timeline.ClockSeen{SentAt: noon, ArrivedAt: noon, ControlPlaneAt: noon},
		`{"kind":"clock_seen","sent_at":"2026-03-01T12:00:00Z","arrived_at":"2026-03-01T12:00:00Z",` +
			`"control_plane_at":"2026-03-01T12:00:00Z"}`,
	},
	{
		timeline.PressureSeen{ArrivedAt: noon,
			Stalled: timeline.Stalled{CPU: 1, IO: 2 * time.Microsecond, Memory: time.Second}},
		`{"kind":"pressure_seen","arrived_at":"2026-03-01T12:00:00Z","cpu_stalled":1,"io_stalled":2000,` +
			`"memory_stalled":1000000000}`,
	},
	{
		timeline.ClockSet{ArrivedAt: noon, By: -time.Second},
		`{"kind":"clock_set","arrived_at":"2026-03-01T12:00:00Z","by":-1000000000}`,
	},
	{
		timeline.EventsLost{UID: "u", ArrivedAt: noon},
		`{"kind":"events_lost","uid":"u","arrived_at":"2026-03-01T12:00:00Z"}`,
	},
	{
		timeline.RuntimeSeen{
			UID: "u", QueriedAt: noon, ArrivedAt: noon, NetworkDown: true, NetworkUp: true, NetworkFirst: true,
			Sandboxes: []timeline.Sandbox{{
				ID: "s", Attempt: 1, Ready: true, BegunAt: noon, NetworkReadyAt: noon, RunningAt: noon,
				CreatedAt: noon, ImageResolvedAt: noon, ImagePulledAt: noon, ImageKnown: true,
				Unstamped: true,
			}},
			Containers: []timeline.ContainerRun{{
				Name: "app", ID: "c", Attempt: 1, CreatedAt: noon, StartedAt: noon, FinishedAt: noon, ExitCode: 2,
				Reason: "Error",
			}},
			Images: []timeline.Image{{
				Ref: "web:2", Present: true, PulledAt: noon, SizeBytes: 5, Digest: "sha256:a", ResolvedAt: noon,
				Layered: true, Incomplete: true,
				Layers: []timeline.Layer{{Digest: "sha256:b", SizeBytes: 4, DownloadedAt: noon,
					UnpackedAt: noon, Remote: true}, {Digest: "sha256:c"}},
			}},
		},
		`{"kind":"runtime_seen","uid":"u","asked_at":"2026-03-01T12:00:00Z","arrived_at":"2026-03-01T12:00:00Z",` +
			`"sandboxes":[{"id":"s","attempt":1,"ready":true,"begun_at":"2026-03-01T12:00:00Z",` +
			`"network_ready_at":"2026-03-01T12:00:00Z","image_resolved_at":"2026-03-01T12:00:00Z",` +
			`"image_pulled_at":"2026-03-01T12:00:00Z","image_known":true,"running_at":"2026-03-01T12:00:00Z",` +
			`"created_at":"2026-03-01T12:00:00Z","unstamped":true}],` +
			`"containers":[{"name":"app","id":"c","attempt":1,"created_at":"2026-03-01T12:00:00Z",` +
			`"started_at":"2026-03-01T12:00:00Z","finished_at":"2026-03-01T12:00:00Z","exit_code":2,` +
			`"reason":"Error"}],"images":[{"ref":"web:2","present":true,"pulled_at":"2026-03-01T12:00:00Z",` +
			`"size_bytes":5,"digest":"sha256:a","resolved_at":"2026-03-01T12:00:00Z",` +
			`"layers":[{"digest":"sha256:b","size_bytes":4,"downloaded_at":"2026-03-01T12:00:00Z",` +
			`"unpacked_at":"2026-03-01T12:00:00Z","remote":true},{"digest":"sha256:c"}],"layered":true,` +
			`"incomplete":true}],"network_down":true,"network_up":true,"network_first":true}`,
	},
}

// TestFormat checks that the encoding of each kind does not change, because users keep recordings for years.
func TestFormat(t *testing.T) {
	for _, test := range formatTests {
		line, err := Encode(test.o)
		if err != nil || !strings.HasPrefix(string(line), test.want[:len(`{"kind":"`)]) || line[len(line)-1] != '\n' ||
			!reflect.DeepEqual(fields(t, line), fields(t, []byte(test.want))) {
			t.Errorf("%v, got\n%swant\n%s", err, line, test.want)
		}
	}
	h, err := EncodeHeader(Header{Agent: "v1.2.3", Scope: timeline.Scope{Runtime: true}, Terminations: true})
	if want := `{"kind":"header","version":3,"agent":"v1.2.3","runtime":true,"terminations":true}` + "\n"; err != nil ||
		string(h) != want {
		t.Errorf("%v, got header\n%swant\n%s", err, h, want)
	}
}

// fields returns the fields of a line. The order of the fields does not matter.
func fields(t *testing.T, line []byte) (fields map[string]any) {
	t.Helper()
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return fields
}

// TestRoundTrip fills every field of every kind with random values, so that a new field of an observation cannot be
// missing in recordings.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 3))
		header := Header{"v", timeline.Scope{Runtime: seed%2 == 0, Events: seed%3 == 0}, seed%5 == 0}
		text, err := EncodeHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		var want []timeline.Observation
		for _, empty := range []timeline.Observation{
			timeline.PodSeen{}, timeline.PodGone{}, timeline.EventSeen{}, timeline.EventsWatched{},
			timeline.RuntimeSeen{}, timeline.ClockSet{},
		} {
			o := reflect.New(reflect.TypeOf(empty)).Elem()
			fill(t, random, o)
			want = append(want, o.Interface().(timeline.Observation))
			line, err := Encode(want[len(want)-1])
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			text = append(text, line...)
		}
		reader := NewReader(strings.NewReader(string(text)))
		for _, w := range want {
			if got, err := reader.Next(); err != nil || !reflect.DeepEqual(got, w) {
				t.Fatalf("seed %d: %v, got\n%+v\nwant\n%+v", seed, err, got, w)
			}
		}
		if _, err := reader.Next(); err != io.EOF || reader.Header() != header {
			t.Fatalf("seed %d: %v after the last, header %+v", seed, err, reader.Header())
		}
	}
}

// fill sets every field of v to a random value, but leaves about a quarter of the optional fields empty.
func fill(t *testing.T, random *rand.Rand, v reflect.Value) {
	absent := random.IntN(4) == 0
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(noon.Add(time.Duration(random.Int64N(int64(24 * time.Hour))))))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if optional := name != "UID" && name != "ArrivedAt" && v.Field(i).Kind() != reflect.Struct ||
				v.Field(i).Type() == reflect.TypeFor[time.Time]() && name != "ArrivedAt"; optional &&
				random.IntN(4) == 0 {
				continue
			}
			fill(t, random, v.Field(i))
		}
	case reflect.Slice:
		for range 1 + random.IntN(3) {
			item := reflect.New(v.Type().Elem()).Elem()
			fill(t, random, item)
			v.Set(reflect.Append(v, item))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, random, v.Elem())
	case reflect.String:
		words := []string{"a", "Ready", "\x00\t\n\r\"\\", "\u2028é\U0001F4A5", "{}", strings.Repeat("long ", 300)}
		v.SetString(fmt.Sprint(random.IntN(9), words[random.IntN(len(words))]))
	case reflect.Bool:
		v.SetBool(!absent)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(random.Uint64()))
	default:
		t.Fatalf("no random %s", v.Type())
	}
}

func TestEncodeFails(t *testing.T) {
	for want, o := range map[string]timeline.Observation{
		"invalid year 9999 in a timestamp: must be 1970 to 2261": timeline.PodGone{UID: "u",
			ArrivedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
		"1048576":            timeline.EventSeen{UID: "u", ArrivedAt: noon, Message: strings.Repeat("m", MaxLine)},
		"unknown type <nil>": nil,
		"requires the UID":   timeline.PodGone{ArrivedAt: noon},
	} {
		if line, err := Encode(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.100s, %v; want %q", line, err, want)
		}
	}
	line, err := Encode(timeline.PodGone{UID: "\xff", ArrivedAt: noon})
	if err != nil || !strings.Contains(string(line), `\ufffd`) {
		t.Errorf("%v, got %s", err, line)
	}
}
