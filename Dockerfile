# Two images, without a shell or a package manager in them:
#
#   docker build -t foldgate .                                 the gateway
#   docker build -t foldgate-standin --target standin .        a model to practise with
#
# The builder is pinned by its tag. Its digest is not pinned: whoever builds for
# others looks it up and adds it, golang:…@sha256:….
# The binaries are the same bytes wherever this commit is built: e2e/deploy shows it.

# build makes both programs, for the platform that is asked for.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
# No toolchain but the image's, no C, and no dependency that go.sum does not name.
ENV CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
# With .git in the context the binary knows its commit (gateway version). That is
# why .dockerignore leaves out nothing that is tracked: it would count as modified.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=auto -ldflags='-s -w -buildid=' -o /out/ ./cmd/gateway ./examples/standin

# standin is a model to practise with.
FROM scratch AS standin
LABEL org.opencontainers.image.title="Foldgate stand-in" \
      org.opencontainers.image.description="A model server to practise with: small, offline, without a key" \
      org.opencontainers.image.source="https://github.com/foldgate/foldgate" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/standin /standin
USER 65532:65532
EXPOSE 8000
ENTRYPOINT ["/standin"]
CMD ["-listen", ":8000"]

# gateway is what "docker build ." makes, since it is the last one.
FROM scratch AS gateway
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Foldgate" \
      org.opencontainers.image.description="A gateway in front of OpenAI-compatible chat APIs that folds conversations which outgrow the window" \
      org.opencontainers.image.source="https://github.com/foldgate/foldgate" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
# The upstream and Redis may speak TLS. Times are UTC, so no time zones are needed.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/gateway /gateway
# A number, so that Kubernetes can tell that it is not root.
USER 65532:65532
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["/gateway", "healthcheck"]
ENTRYPOINT ["/gateway"]
CMD ["serve"]
