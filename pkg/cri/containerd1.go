package cri

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"google.golang.org/protobuf/proto"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// The CRI plugin of containerd sets the label kindLabel on each of its containers. For a sandbox container (pause
// container), the value is kindSandbox (containerd 1.7: pkg/cri/server/helpers.go).
const (
	kindLabel   = "io.cri-containerd.kind"
	kindSandbox = "sandbox"
)

// storesSandboxContainers reports whether the version is 1.6.15 or a later 1.x version of containerd. Version 1.6.15
// and later 1.x versions update the record of a sandbox container both before and after the network setup. Earlier
// versions update the record only before the network setup, or never.
func storesSandboxContainers(version string) bool {
	const wantMajor, wantMinor, wantPatch = 1, 6, 15
	major, minor, patch, known := parseVersion(version)
	return known && major == wantMajor && (minor > wantMinor || minor == wantMinor && patch >= wantPatch)
}

// stampFromContainer sets the timestamps of a sandbox. The timestamps come from the record of the sandbox container
// (pause container) in containerd's container store.
//
// If the sandbox image is absent, containerd 1.7 (pkg/cri/server/sandbox_run.go) pulls the image before it creates the
// record. containerd updates the record only twice: before the network setup and immediately after it. CRI lists a
// sandbox only after its start. Therefore, the updated_at of a ready sandbox is the end of the network setup, except in
// these cases:
//   - For a sandbox with a user namespace, containerd does not update the record after the network setup.
//   - A sandbox with the host's network has no network setup, so created_at and updated_at are equal.
//   - An experimental mode of containerd 1.7 (ENABLE_CRI_SANDBOXES) runs the steps in another order. In this mode,
//     created_at and updated_at are equal.
//
// If updated_at is not the end of the network setup, stampFromContainer sets no timestamp, and the sandbox has only its
// CreatedAt from CRI.
func (a *responder) stampFromContainer(
	ctx context.Context, sandbox *timeline.Sandbox, firstContainerAt time.Time,
) error {
	sandbox.Unstamped = true // containerd 1.x does not record when the sandbox started to run
	cached, _ := a.stamps.Get(sandbox.ID)
	stamps, known := cached.(timeline.Sandbox)
	if !known {
		record, err := a.client.storedContainer(ctx, sandbox.ID)
		if err != nil {
			return a.stores.containers.tolerate(err)
		}
		created, updated := fromTimestamp(record.GetCreatedAt()), fromTimestamp(record.GetUpdatedAt())
		if record.GetLabels()[kindLabel] == kindSandbox && sandbox.Ready && updated.After(created) &&
			!hasUserNamespace(record.GetSpec().GetValue()) {
			stamps.BegunAt, stamps.NetworkReadyAt, stamps.ImageFirst = created, updated, true
			image, err := a.storedImage(ctx, record.GetImage())
			if err != nil {
				return err
			}
			stamps.ImageStoredAt = fromTimestamp(image.GetCreatedAt()) // zero if the end of the first pull is unknown
		}
		if sandbox.Ready {
			a.stamps.Add(sandbox.ID, stamps)
		}
	}
	if stamps.BegunAt.IsZero() || !firstContainerAt.IsZero() && stamps.NetworkReadyAt.After(firstContainerAt) {
		return nil
	}
	sandbox.BegunAt, sandbox.NetworkReadyAt, sandbox.CreatedAt = stamps.BegunAt, stamps.NetworkReadyAt, time.Time{}
	sandbox.ImageFirst, sandbox.ImageStoredAt = stamps.ImageFirst, stamps.ImageStoredAt
	return nil
}

// hasUserNamespace reports whether a container has its own user namespace. The argument is the container's
// configuration (OCI runtime specification). If hasUserNamespace cannot parse the configuration, or finds no namespaces
// in it, the result is true.
func hasUserNamespace(spec []byte) bool {
	var config struct {
		Linux struct {
			Namespaces []struct {
				Type string `json:"type"`
			} `json:"namespaces"`
		} `json:"linux"`
	}
	if err := json.Unmarshal(spec, &config); err != nil {
		return true
	}
	for _, namespace := range config.Linux.Namespaces {
		if namespace.Type == "user" {
			return true
		}
	}
	return len(config.Linux.Namespaces) == 0
}

// onlySandboxContainer returns an error if the response describes a container that is not a sandbox container (pause
// container). The agent does not read the records of other containers, because these records contain the values of
// environment variables.
func onlySandboxContainer(encoded []byte) error {
	var response containersapi.GetContainerResponse
	if err := proto.Unmarshal(encoded, &response); err != nil {
		return fmt.Errorf("parse the response: %w", err)
	}
	if kind := response.GetContainer().GetLabels()[kindLabel]; kind != kindSandbox {
		return fmt.Errorf("the container has the kind %q, but the agent reads only containers of the kind "+
			"\"sandbox\"", kind)
	}
	return nil
}
