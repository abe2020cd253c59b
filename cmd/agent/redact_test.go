package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// secretPart is a substring of every credential in this test.
const secretPart = "hunter2"

// leakingMessages lists messages of the kubelet and the runtime that contain credentials.
var leakingMessages = map[string]string{
	"Failed": `Failed to pull image "registry.example/web:2": Head "https://user:` + secretPart +
		`@registry.example/v2/web/manifests/2": 401 Unauthorized`,
	"FailedMount": `MountVolume.SetUp failed for volume "nas": mount -o username=joe,password=` + secretPart +
		` //nas/share: exit status 32, ` +
		`Authorization: Basic aHVudGVyMjpodW50ZXIy`,
	"FailedCreatePodSandBox": `failed to get sandbox image: httpReadSeeker: ` +
		`Get "https://s3.example/l?X-Amz-Credential=` +
		secretPart + `&X-Amz-Signature=` + secretPart + `": 403 Forbidden`,
	"FailedSync": `blob?sv=1&sig=` + secretPart + `&token=` + secretPart +
		` refused, with Bearer ` + secretPart + `-` + secretPart,
	"Unhealthy":           `Readiness probe failed: it says ` + secretPart,
	"FailedPostStartHook": `Exec lifecycle hook ([login ` + secretPart + `]) failed`,
}

func TestNoOutputHoldsCredentials(t *testing.T) {
	sent := startCollector(t)
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-8 * time.Second))
	pod.Annotations = map[string]string{"podlapse.dev/annotate": "true"}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
			Message: leakingMessages["Failed"]}},
	}}
	cluster.Put(pod)
	dir := t.TempDir()
	file := filepath.Join(dir, "recording.jsonl")
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint=off",
		"--log-level=debug", "--records=both", "--serve-objects", "--annotate",
		"--life-traces", "--debug-observations=on", "--record-observations", file,
		"--state-dir", filepath.Join(dir, "state"))
	responses := func(outputs map[string]string, when string) {
		for _, path := range []string{"/metrics", "/api/v1/pods/shop/web-0", "/api/v1/pods", "/api/v1/objects/pods",
			"/api/v1/pulls", "/debug/observations", "/readyz?verbose", "/"} {
			_, outputs[path+" "+when] = agent.get(path)
		}
		for path, text := range filesIn(t, filepath.Join(dir, "state")) {
			outputs[path+" "+when] = text
		}
	}
	outputs := map[string]string{}
	at := time.Now().Add(-5 * time.Second)
	for reason, message := range leakingMessages {
		at = at.Add(300 * time.Millisecond)
		cluster.Put(kubeletEvent(reason, message, at))
	}
	for reason := range leakingMessages {
		agent.pollUntil("/api/v1/pods/shop/web-0", `"reason":"`+reason+`"`)
		agent.pollUntil("/debug/observations", `"reason":"`+reason+`"`)
	}
	awaitInFiles(t, filepath.Join(dir, "state"), slices.Sorted(maps.Keys(leakingMessages))...)
	responses(outputs, "while it starts")
	cluster.Put(readyPod(pod, time.Now()))
	written, err := agent.records.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	outputs["records"] = written
	root := sent.awaitRootSpan(t)
	awaitAnnotation(t, cluster)
	cluster.Put(kubeletEvent("Unhealthy", leakingMessages["Unhealthy"]+" again", time.Now()))
	responses(outputs, "when it is ready")
	agent.mustEndCleanly()
	for line := range agent.logs {
		outputs["log"] += line + "\n"
	}
	outputs["annotations"] = fmt.Sprint(cluster.Pod("shop", "web-0").Annotations)
	text, err := protojson.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	outputs["trace"] = string(text)
	for path, text := range filesIn(t, dir) {
		outputs[path] = text
	}
	for output, text := range outputs {
		for _, secret := range []string{secretPart, "aHVudGVyMjpodW50ZXIy"} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s holds a credential: …%s…", output, text[max(0, at-80):min(len(text), at+20)])
			}
		}
	}
	for _, output := range []string{"records", "trace", file, "/api/v1/pods/shop/web-0 while it starts"} {
		if !strings.Contains(outputs[output], "registry.example/v2/web/manifests/2") {
			t.Errorf("%s lacks the message, so the test proves nothing\n%s", output, outputs[output])
		}
	}
}

// awaitAnnotation waits until the agent has annotated the pod shop/web-0.
func awaitAnnotation(t *testing.T, cluster *podwatchtest.Server) {
	t.Helper()
	annotated := func() bool { return cluster.Pod("shop", "web-0").Annotations["podlapse.dev/startup"] != "" }
	for deadline := time.Now().Add(time.Minute); !annotated(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the pod was not annotated")
		}
	}
}

// awaitInFiles waits until one file of a directory contains all texts.
func awaitInFiles(t *testing.T, dir string, texts ...string) {
	t.Helper()
	complete := func() bool {
		// A file with a dot is not complete: an agent that is killed now loses this file. The pattern is valid.
		paths, _ := filepath.Glob(filepath.Join(dir, "[^.]*"))
		for _, path := range paths {
			content, _ := os.ReadFile(path) // the agent can replace the file meanwhile
			lacks := func(text string) bool { return !strings.Contains(string(content), text) }
			if !slices.ContainsFunc(texts, lacks) {
				return true
			}
		}
		return false
	}
	for deadline := time.Now().Add(time.Minute); !complete(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no file in %s contains %q", dir, texts)
		}
	}
}

// filesIn reads every file below a directory.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
