package timeline

import (
	"strings"
	"testing"
)

// faults are errors of the core that simulated pods showed, reduced to small scripts. Each entry has the script, a text
// that the timeline must not contain, and a text that the timeline must contain. The test skips an entry whose field
// "open" is true, because its fault is not fixed yet. After the fix, the test fails until you delete the field "open".
// Then also delete the fault in openCells.
var faults = []struct {
	name   string
	open   bool
	script string
	not    string
	must   string
}{
	{
		name: "the queue is as long as the kubelet's message states, not as its late Event",
		script: `
available runtime events
spec main app cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image cold absent
0.510 event app Pulling 'Pulling image "cold"' named@0.500
5.600 event app Pulled 'Successfully pulled image "cold" in 5s (5.001s including waiting). Image size: 5 bytes.' ` +
			`named@5.580
7.000 pod app running@5 started ready | containers_ready@6 ready@6
7.010 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | app created@5.600 started@5.700
`,
		not: "pull_queue 0.500-0.580 0.080 ±0.011",
	},
	{
		name: "the kubelet does not wait for a run that fails before the next main container",
		script: `
available runtime events
spec main first base
spec main second other
0.310 pod scheduled@0
0.320 pod acknowledged@0 | first waiting | second waiting
0.330 runtime image base present | image other present
0.470 event first Pulled 'Container image "base" already present on machine' named@0.460
0.610 event second Pulled 'Container image "other" already present on machine' named@0.600
0.900 pod first terminated@0-0 exit=1 | second running@0 started ready
0.910 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | ` +
			`first created@0.500 started@0.550 finished@0.570 exit=1 | second created@0.650 started@0.700
1.900 pod first running@1 attempt=1 started ready | containers_ready@1 ready@1
1.910 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | ` +
			`first attempt=1 created@1.000 started@1.100 | second created@0.650 started@0.700
`,
		not: "failed_run 0.550-0.570", must: "kubelet_sync 0.550-0.600",
	},
	{
		name: "the arrival of a status does not move a milestone behind the next milestone",
		script: `
available runtime events
spec sidecar proxy base startup
spec main app cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | proxy waiting | app waiting
0.330 runtime image base present | image cold absent
2.020 pod proxy running@0 started ready
2.025 event app Pulling 'Pulling image "cold"' named@2.000
2.030 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | proxy created@0.500 started@0.550
`,
		not: "kubelet_sync 0.550-2.000", must: "startup_probe 0.550-2.000",
	},
	{
		name: "the estimated end of a pull is not later than the run that follows",
		script: `
available runtime
spec main app cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image cold absent
21.000 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | image cold present first@20.000 pulled@20.000
23.900 pod app running@22 started ready | containers_ready@23 ready@23
`,
		not: "container_create 0.450-22.500",
	},
	{
		name: "a startup probe during another container's pull does not get the time of the pull",
		script: `
available runtime events
spec main first base startup readiness
spec main second cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | first waiting | second waiting
0.330 runtime image base present | image cold absent
0.600 event first Pulled 'Container image "base" already present on machine' named@0.460
0.710 event second Pulling 'Pulling image "cold"' named@0.600
3.010 pod first running@0 started
5.610 event second Pulled 'Successfully pulled image "cold" in 5s (5s including waiting). Image size: 5 bytes.' ` +
			`named@5.600
6.000 pod second running@5 started ready
9.010 pod first ready | containers_ready@9 ready@9
9.020 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | first created@0.500 started@0.550 | ` +
			`second created@5.700 started@5.800
`,
		not: "startup_probe 0.600-3.010",
	},
	{
		name: "a restart's pull request in the second of the first run is not an attempt before the first run",
		script: `
available runtime events
spec main app base Always readiness
0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image base present
0.510 event app Pulling 'Pulling image "base"' named@0.500
0.610 event app Pulled 'Successfully pulled image "base" in 100ms (100ms including waiting). Image size: 5 bytes.' ` +
			`named@0.600
0.900 event app Pulling 'Pulling image "base"' named@0.500 count=2 last@0
4.010 pod app running@1 attempt=1 started ready | containers_ready@4 ready@4
4.020 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | ` +
			`app created@0.700 started@0.750 finished@0.800 exit=1 | app attempt=1 created@1.000 started@1.100
`,
		not: "image_backoff", must: "image_pull 0.500-0.600 0.100 ±0.100 app/0 with [pull unpack]",
	},
	{
		name: "a later pull of the image belongs to another container",
		script: `
available runtime
spec main first cold
spec main second cold Always
0.310 pod scheduled@0
0.320 pod acknowledged@0 | first waiting | second waiting
0.330 runtime image cold absent
10.500 pod first running@2 started ready | second running@9 started ready | containers_ready@10 ready@10
10.510 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | first created@2.000 started@2.100 | ` +
			`second created@9.000 started@9.100 | image cold present first@1.900 pulled@8.900
`,
		not: "conflict",
	},
	{
		name: "with the policy Always, the kubelet also asks the registry about an image that is present",
		script: `
available runtime
spec main app base Always
0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image base present first@-3600 pulled@-3600
21.100 pod app running@20 started ready | containers_ready@21 ready@21
21.110 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | app created@20.000 started@20.100
`,
		not: "kubelet_sync 0.450-20.000", must: "unattributed 0.450-20.000",
	},
	{
		name: "a failed run does not get time in which another container's pull can have been in progress",
		script: `
available runtime
spec main first base
spec main second cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | first waiting | second waiting
0.330 runtime image base present | image cold absent
12.000 pod first running@10 attempt=1 started ready | second running@10 started ready | containers_ready@11 ready@11
12.010 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | ` +
			`first created@0.500 started@0.550 finished@5.000 exit=1 | ` +
			`first attempt=1 created@10.200 started@10.300 | second created@10.000 started@10.100 | image cold present
`,
		not: "failed_run 0.550-5.000",
	},
	{
		name: "a repeated Event in seconds does not take the time before another container's exact milestone",
		script: `
available runtime events
spec main first base Always
spec main second cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | first waiting | second waiting
0.330 runtime image base present | image cold absent
0.510 event first Pulling 'Pulling image "base"' named@0.500
0.610 event first Pulled 'Successfully pulled image "base" in 50ms (50ms including waiting). Image size: 5 bytes.' ` +
			`named@0.560
0.720 event second Pulling 'Pulling image "cold"' named@0.710
0.910 event second Failed 'Failed to pull image "cold": no' named@0.900
12.800 event second Pulling 'Pulling image "cold"' named@0.710 count=2 last@12
12.810 event second Failed 'Failed to pull image "cold": no' named@0.900 count=2 last@12
34.100 event second Pulling 'Pulling image "cold"' named@0.710 count=3 last@34
35.110 event second Pulled 'Successfully pulled image "cold" in 1s (1s including waiting). Image size: 5 bytes.' ` +
			`named@35.100
37.000 pod first running@12 attempt=1 started ready | second running@35 started ready | containers_ready@36 ready@36
37.010 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | ` +
			`first created@0.600 started@0.650 finished@1.000 exit=1 | ` +
			`first attempt=1 created@12.600 started@12.650 | second created@35.200 started@35.300
`,
		// The pull for the restart of the container "first" lasted from 1.1 to 12.5. The kubelet requested the image of
		// the container "second" again at 12.7.
		not: "image_backoff 1.000-12.500",
	},
	{
		name: "a failure that no Event reported does not contradict the successful pull",
		script: `
available runtime events
spec main app cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image cold absent
0.510 event app Pulling 'Pulling image "cold"' named@0.500
13.010 event app Pulled 'Successfully pulled image "cold" in 1s (1s including waiting). Image size: 5 bytes.' ` +
			`named@13.000
14.500 pod app running@13 started ready | containers_ready@14 ready@14
14.510 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | app created@13.100 started@13.200
`,
		not: "conflict",
	},
	{
		name: "an image that was found present after a pull request was not present at first",
		script: `
available runtime events
spec main app cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image cold absent
0.510 event app Pulling 'Pulling image "cold"' named@0.500
13.010 event app Pulled 'Container image "cold" already present on machine' named@13.000
14.500 pod app running@13 started ready | containers_ready@14 ready@14
14.510 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | app created@13.100 started@13.200
`,
		not: "kubelet_sync 0.450-13.000",
	},
	{
		name: "if two containers are first seen ready together, it is unknown which became ready last",
		script: `
available runtime
spec main first base readiness
spec main second base
0.310 pod scheduled@0
0.320 pod acknowledged@0 | first waiting | second waiting
0.330 runtime image base present
12.000 pod first running@0 started ready | second running@10 started ready | containers_ready@11 ready@11
12.010 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | first created@0.500 started@0.550 | ` +
			`second created@10.500 started@10.600
`,
		// The container "second" has no probe. If "second" became ready last, the kubelet noticed only at 11 that it
		// runs.
		not: "readiness_probe 10.600",
	},
	{
		name: "the start of a sidecar is one phase",
		script: `
available runtime
spec sidecar proxy base startup readiness
spec main app base
0.310 pod scheduled@0
0.320 pod acknowledged@0 | proxy waiting | app waiting
0.330 runtime image base present
2.010 pod proxy running@0 started
3.500 pod app running@2 started ready
9.010 pod proxy ready | containers_ready@9 ready@9
9.020 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | proxy created@0.500 started@0.550 | ` +
			`app created@2.500 started@2.600
`,
		not: "startup_probe 2.010-2.010",
	},
	{
		name: "a single timestamp of a sandbox separates no phases",
		script: `
available runtime events
spec main app base
0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 watched
0.340 runtime image base present
9.500 pod app running@9 started ready | containers_ready@9 ready@9
9.510 runtime sandbox ready created@8.500 | app created@9.000 started@9.100
`,
		not: "\nvolumes", must: "with [volumes api_server kubelet_sync network sandbox",
	},
	{
		name: "another pod's pull of the image does not end this pod's back-off",
		script: `
available runtime events
spec main app cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image cold absent
0.510 event app Pulling 'Pulling image "cold"' named@0.500
1.010 event app Failed 'Failed to pull image "cold": no' named@1.000
5.000 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | image cold present first@4.000 pulled@4.000
at 9
`,
		not: "container_create", must: "image_backoff 1.000-9.000",
	},
	{
		name: "a Pulled Event that is a little late still belongs to the request before it",
		script: `
available runtime events
spec main app cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image cold absent
0.610 event app Pulling 'Pulling image "cold"' named@0.600
5.900 event app Pulled 'Successfully pulled image "cold" in 5s (5s including waiting). Image size: 5 bytes.' named@5.851
7.000 pod app running@6 started ready | containers_ready@7 ready@7
7.010 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | app created@6.100 started@6.200
`,
		not: "app/1", must: "pull app/0 downloaded",
	},
	{
		name: "a gap of length zero has an error bound, which the next phase inherits",
		script: `
available runtime events
spec main first base
spec main second cold
0.310 pod scheduled@0
0.320 pod acknowledged@0 | first waiting | second waiting
0.330 runtime image base present | image cold absent
0.460 event second Pulling 'Pulling image "cold"' named@0.550
0.900 event second Failed 'Failed to pull image "cold": no' named@0.800
5.010 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | first created@0.500 started@0.550
`,
		// The kubelet requested the pull between 0.55 and 0.65. The pull failed between 0.55 and 0.8.
		not: "unattributed 0.550-0.800 0.250 ±0.100", must: "unattributed 0.550-0.800 0.250 ±0.250",
	},
}

func TestRegressions(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			got := parseScript(t, []byte(fault.script)).print(t)
			bad := strings.Contains(got, fault.not) || !strings.Contains(got, fault.must)
			switch {
			case fault.open && bad:
				t.Skipf("open:\n%s", got)
			case fault.open:
				t.Errorf("this fault is fixed: delete its field \"open\"\n%s", got)
			case bad:
				t.Errorf("the timeline must contain %q and not %q:\n%s", fault.must, fault.not, got)
			}
		})
	}
}
