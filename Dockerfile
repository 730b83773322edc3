# The image of Herald: `docker build -t herald .`, then
# `docker run -p 127.0.0.1:8080:8080 -v herald-data:/data herald`.
# Both images can be replaced with --build-arg, also by their digests; both must be of the same Debian release.
ARG BUILD_IMAGE=swift:6.3-bookworm
ARG RUN_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /herald
# The packages come first: this layer is built again only when they change.
COPY Package.swift ./
COPY script/bootstrap script/
RUN script/bootstrap
COPY . .
RUN script/build && strip --strip-all -o /herald/herald .build/release/herald

FROM ${RUN_IMAGE} AS root
# script/check-runtime-packages compares this list with what the binary is linked with. Debian's security updates must
# reach every build, so versions are not pinned.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        ca-certificates \
        libc-ares2 \
        libcurl4 \
        libgnutls30 \
        libjemalloc2 \
        libmicrohttpd12 \
        libnghttp2-14 \
        libpq5 \
        libsqlite3-0 \
        libssl3 \
        libstdc++6 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /herald/herald /herald/script/image-root /herald/
RUN /herald/image-root /herald/herald /root-of-image

# Only the binary, its libraries and the certificates: no shell.
FROM scratch
LABEL org.opencontainers.image.title="Herald" \
    org.opencontainers.image.description="Self-hosted webhook delivery" \
    org.opencontainers.image.licenses="MIT"
COPY --from=root /root-of-image /
USER 10001:10001
WORKDIR /data
# A container is reached from outside only: without HERALD_ADMIN_KEY the first start makes an admin key: /data/admin-key.
ENV PATH=/usr/local/bin HERALD_DATA=/data HERALD_LISTEN=0.0.0.0:8080
VOLUME /data
EXPOSE 8080
# `herald serve` drains on TERM, within HERALD_GRACE (30 s): give `docker stop` more time than that.
STOPSIGNAL SIGTERM
# An upgrade may migrate a large database for up to an hour.
HEALTHCHECK --interval=10s --timeout=5s --start-period=1h --retries=3 CMD ["herald", "health"]
ENTRYPOINT ["herald"]
CMD ["serve"]
