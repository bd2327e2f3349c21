/** What machines ask: `/healthz`, `/readyz`, `/metrics`. */
import type { FastifyInstance } from "fastify";
import type { Log } from "../../log.ts";
import type { Metrics } from "./metrics.ts";
import type { Readiness } from "./ready.ts";

export type Machines = { metrics: Metrics; ready: () => Promise<Readiness> };

/** Adds the routes. Without `machines` the process can only say that it lives. */
export function addMachines(
  app: FastifyInstance,
  { machines, log }: { machines: Machines | null; log: Log },
): void {
  app.get("/healthz", { config: { open: true } }, async (_request, reply) =>
    reply.header("cache-control", "no-store").send({ status: "alive" }),
  );
  if (!machines) return;
  app.get("/readyz", async (_request, reply) => {
    const { ready, checks } = await machines.ready();
    return reply
      .code(ready ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ status: ready ? "ready" : "not ready", checks });
  });
  app.get("/metrics", async (_request, reply) => {
    try {
      const text = await machines.metrics.text();
      return await reply
        .header("content-type", machines.metrics.contentType)
        .header("cache-control", "no-store")
        .send(text);
    } catch (error) {
      log.warn({ err: error }, "the metrics could not be put together");
      return reply.code(500).send({ status: "failed" });
    }
  });
}
