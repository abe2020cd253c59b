package scenario

import (
	"context"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// refusedCase returns a case in which the registry refuses the pull with the given HTTP status.
func (p *pullRun) refusedCase(ctx context.Context, name string, status, failures int, class string) (pullCase, error) {
	image, err := p.pushColdImage(ctx, name)
	if err != nil {
		return pullCase{}, err
	}
	repair := func(ctx context.Context) error { return p.bench.Repair(ctx, name) }
	return plainCase(name, image, agent.Downloaded).failsFirst(failures, repair, class),
		p.bench.Break(ctx, name, registry.Rule{Status: status})
}

// caseWithReset returns a case in which the registry interrupts the download once, in the middle of the layer. After
// the interruption, the pull fails.
func (p *pullRun) caseWithReset(ctx context.Context) (pullCase, error) {
	image, err := p.pushColdImage(ctx, "reset")
	if err != nil {
		return pullCase{}, err
	}
	repair := func(ctx context.Context) error { return p.bench.Repair(ctx, "reset") }
	c := plainCase("reset", image, agent.Downloaded).failsFirst(1, repair, "registry_error")
	c.cutOff = true
	// if the fault has no limit of requests, the function "repair" ends the fault before the next attempt
	rule := registry.Rule{Kind: registry.KindBlob, ResetAfterBytes: pullLayer / 4 * 3, Times: p.blobRequests()}
	return c, p.bench.Break(ctx, "reset", rule)
}

// otherPlatformCase returns a case in which the image is for another platform. After a failed pull, the scenario
// pushes an image for the node's platform under the same name.
func (p *pullRun) otherPlatformCase(ctx context.Context) (pullCase, error) {
	architecture := "arm64"
	image, err := p.bench.ImageElsewhere(ctx, "platform", architecture)
	if err != nil {
		return pullCase{}, err
	}
	repair := func(ctx context.Context) error { _, err := p.pushColdImage(ctx, "platform"); return err }
	c := plainCase("platform", image, agent.Downloaded).failsFirst(1, repair, "no_matching_platform")
	c.storedBefore = true
	return c, nil
}

// unknownHost returns a case in which the registry's name cannot be resolved, because a label of the name is too long.
// The resolver rejects labels of more than 63 characters without a DNS query. Therefore, the lab needs no DNS server
// for this case.
func (p *pullRun) unknownHost(context.Context) (pullCase, error) {
	host := strings.Repeat("nowhere", 10) + ".invalid"
	return plainCase("dns", host+"/image:1", agent.Failed).failsFirst(1, nil, "dns"), nil
}

// noListener returns a case in which no process listens at the registry's address.
func (p *pullRun) noListener(context.Context) (pullCase, error) {
	return plainCase("refused", "127.0.0.1:1/image:1", agent.Failed).failsFirst(1, nil, "connection_refused"), nil
}

// changedImage returns a case in which no process listens at the address of the image's registry. After a failed pull,
// the scenario changes the container's image to an image in the lab's registry.
func (p *pullRun) changedImage(ctx context.Context) (pullCase, error) {
	const pod, before = "changed", "127.0.0.1:1/changed:1"
	image, err := p.pushColdImage(ctx, pod)
	if err != nil {
		return pullCase{}, err
	}
	c := plainCase(pod, image, agent.Downloaded)
	c.spec.Containers[0].Image, c.wants[0].before = before, before
	repair := func(ctx context.Context) error {
		return p.bench.Kube.MergeLists(ctx, p.bench.PodPath(pod), map[string]any{"spec": map[string]any{
			"containers": []map[string]string{{"name": mainName, "image": image}}}})
	}
	return c.failsFirst(1, repair, "connection_refused"), nil
}
