#!/usr/bin/env bash
# `image.sh NAME:TAG VERSION REVISION ARCHIVE` builds the image as an OCI archive.
# `image.sh prepare` installs buildah if buildah is missing, and does not build an image.
#   PLATFORMS          platforms to build; default: linux/amd64,linux/arm64.
#   GO_IMAGE           base image with Go for the build; default: an image that the script makes from the installed
#                      Go. If Go is not installed, the default is the image in the Dockerfile.
#   SOURCE_DATE_EPOCH  timestamp of all files in the image; default: the time of the last commit.
# The script prints the digest last. The same sources, Go version, certificates and arguments give the same digest.
set -euo pipefail
[ $# = 4 ] || [ "$*" = prepare ] || { sed -n '2,8s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "$0")"

if ! command -v buildah >/dev/null; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "image.sh: needs buildah: install the package of that name" >&2
		exit 1
	fi
	apt-get -o DPkg::Lock::Timeout=300 update -q >&2
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends buildah >&2
fi
[ "$*" != prepare ] || exit 0
name=$1 version=$2 revision=$3 archive=$4

# buildah uses this directory instead of the machine's own storage. The script removes the directory at the end.
scratch=$(mktemp -d)
image() { command buildah --root "$scratch/root" --runroot "$scratch/run" "$@"; }
clean() {
	image rm --all >/dev/null 2>&1 || true
	# If the script runs without root, buildah creates a user namespace, and its files belong to users of this namespace.
	# Only root in this namespace can remove the files.
	if [ "$(id -u)" = 0 ]; then rm -rf "$scratch"; else buildah unshare rm -rf "$scratch"; fi
}
trap clean EXIT
# The build does not need its own namespaces. In a container, buildah cannot create namespaces.
export BUILDAH_ISOLATION=chroot
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || echo 0)}"

arguments=()
if [ -n "${GO_IMAGE:-}" ]; then
	arguments+=(--build-arg GO_IMAGE="$GO_IMAGE")
elif command -v go >/dev/null; then
	# The Dockerfile needs only Go, a shell and certificates from its base image. The build mounts Go and does
	# not copy it.
	mkdir -p "$scratch/go/tmp"
	# shellcheck disable=SC2046 # a word for each library
	cp --parents --dereference /bin/sh $(ldd /bin/sh | grep -o '/[^ ]*') /etc/ssl/certs/ca-certificates.crt "$scratch/go"
	container=$(image from scratch)
	image copy -q "$container" "$scratch/go" / >/dev/null
	image config --env PATH=/usr/local/go/bin:/bin --env HOME=/root --env GOPATH=/go --env GOTOOLCHAIN=local "$container"
	image commit -q --rm "$container" localhost/go >/dev/null
	arguments+=(--build-arg GO_IMAGE=localhost/go --pull=never --volume "$(go env GOROOT):/usr/local/go:ro")
fi
if command -v go >/dev/null; then
	# Use this machine's Go caches instead of the cache mounts in the Dockerfile.
	mkdir -p "$(go env GOMODCACHE)" "$(go env GOCACHE)"
	go mod download >&2
	arguments+=(--volume "$(go env GOMODCACHE):/go/pkg/mod" --volume "$(go env GOCACHE):/root/.cache/go-build")
fi

# Build one platform after the other, so that the order of the platforms in the image is always the same. If
# buildah built several platforms at once, the platform whose build ended first would be the first in the image.
platforms=${PLATFORMS:-linux/amd64,linux/arm64}
for platform in ${platforms//,/ }; do
	image build --manifest "$name" --platform "$platform" --format oci \
		--timestamp "$SOURCE_DATE_EPOCH" --identity-label=false "${arguments[@]}" \
		--build-arg BUILDPLATFORM="linux/$(go env GOHOSTARCH 2>/dev/null || echo amd64)" \
		--build-arg VERSION="$version" --build-arg REVISION="$revision" . >&2
done
mkdir -p "$(dirname "$archive")"
rm -f "$archive"
image manifest push --quiet --all "$name" "oci-archive:$archive:$name" >&2
tar -xOf "$archive" index.json | grep -o 'sha256:[0-9a-f]*'
