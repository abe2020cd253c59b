# `make image` and `docker build .` use this Dockerfile. The build arguments are GO_IMAGE, VERSION and REVISION.
ARG GO_IMAGE=docker.io/library/golang:1.26.8
FROM --platform=$BUILDPLATFORM $GO_IMAGE AS build
WORKDIR /src
COPY . .
ARG TARGETARCH
ARG VERSION=unknown
ARG REVISION=unknown
# `make build` uses the same flags as this Dockerfile, so that both builds create the same program.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=linux GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -gcflags=all=-dwarf=false -ldflags "-s -w -X main.version=$VERSION -X main.revision=$REVISION" -o /podlapse-agent ./cmd/agent

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title=podlapse \
      org.opencontainers.image.source=https://github.com/podlapse/podlapse \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /podlapse-agent /podlapse-agent
USER 65532:65532
EXPOSE 9717
ENTRYPOINT ["/podlapse-agent"]
CMD ["run"]
