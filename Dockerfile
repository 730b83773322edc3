# The image of Herald: `docker build -t herald .`, then
# `docker run -p 127.0.0.1:8080:8080 -v herald-data:/data herald`.
# Both base images can be replaced with --build-arg; both must be of the same Debian release.
ARG BUILD_IMAGE=swift:6.3-bookworm
ARG RUN_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /herald
# The packages come first: this layer is built again only when they change.
COPY Package.swift ./
COPY script/bootstrap script/
RUN script/bootstrap
COPY . .
RUN script/build

FROM ${RUN_IMAGE}
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
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --home-dir /data --shell /usr/sbin/nologin herald \
    && install --directory --owner=herald --group=herald --mode=0700 /data
COPY --from=build /herald/.build/release/herald /usr/local/bin/

USER 10001:10001
WORKDIR /data
# A container is reached from outside only: without HERALD_ADMIN_KEY the first start makes an admin key: /data/admin-key.
ENV HERALD_DATA=/data HERALD_LISTEN=0.0.0.0:8080
VOLUME /data
EXPOSE 8080
# `herald serve` drains on TERM, within HERALD_GRACE (30 s): give `docker stop` more time than that.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["herald", "health"]
ENTRYPOINT ["herald"]
CMD ["serve"]
