# A tag can be moved, a digest cannot. What it is now: docker buildx imagetools inspect node:24-bookworm-slim
ARG NODE=node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM ${NODE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY bin ./bin
COPY scripts ./scripts
COPY src ./src
# The dashboard's Help.
COPY docs ./docs
COPY README.md CHANGELOG.md ./
RUN npm run build

FROM ${NODE}
RUN apt-get update \
 && apt-get install --yes --no-install-recommends tini \
 && rm -rf /var/lib/apt/lists/*
# The C library keeps less of what was given back: 13 MB of 108.
ENV MALLOC_ARENA_MAX=2 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    NODE_ENV=production \
    QUOTEKEEPER_DATA_DIR=/var/lib/quotekeeper \
    QUOTEKEEPER_JOBS_DIR=/etc/quotekeeper/jobs
WORKDIR /app
COPY --from=build /build/dist ./dist
# The program's libraries are in dist/. DuckDB, which `quotekeeper sql` needs, is machine code of its own.
COPY --from=build /build/node_modules/@duckdb ./node_modules/@duckdb
COPY --from=build /build/node_modules/detect-libc ./node_modules/detect-libc
COPY package.json LICENSE ./
COPY bin ./bin
COPY migrations ./migrations
COPY jobs /etc/quotekeeper/jobs
# A volume that is mounted there takes over owner and mode.
RUN install --directory --owner=node --group=node --mode=0700 /var/lib/quotekeeper
USER node
VOLUME /var/lib/quotekeeper
EXPOSE 8080
# Alive, not ready: a database that is away is no reason to restart a collector that goes on filling its journal.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.QUOTEKEEPER_HTTP_PORT || 8080) + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "bin/quotekeeper.js"]
CMD ["start"]
