/** Thousands of connections that say nothing, and a call beside them. */
import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { CREDENTIALS, targetsOf } from "./inputs.ts";
import { median, signAll } from "./load.ts";
import type { Server } from "./server.ts";

/** How many connections are opened at a time. */
const AT_ONCE = 200;

/** Opens so many idle connections and calls the service beside them. @returns whether every call was answered */
export async function idleConnections(service: Server, count: number): Promise<boolean> {
  const { hostname, port } = new URL(service.baseUrl);
  const before = await callTimes(service);
  const sockets: Socket[] = [];
  let refused = 0;
  while (sockets.length + refused < count) {
    const opened = await Promise.allSettled(
      Array.from({ length: Math.min(AT_ONCE, count - sockets.length - refused) }, () =>
        open(hostname, Number(port)),
      ),
    );
    for (const result of opened) {
      if (result.status === "fulfilled") sockets.push(result.value);
      else refused += 1;
    }
  }
  const beside = await callTimes(service);
  console.log(
    `${sockets.length} idle connections open, ${refused} refused; a call takes ${median(beside.ms).toFixed(1)} ms beside them, ${median(before.ms).toFixed(1)} ms before; ${service.memoryMb().toFixed(0)} MB`,
  );
  for (const socket of sockets) socket.destroy();
  const after = await callTimes(service);
  return before.failed + beside.failed + after.failed === 0 && refused === 0;
}

async function callTimes(service: Server): Promise<{ ms: number[]; failed: number }> {
  const targets = targetsOf(1, 20);
  const ms: number[] = [];
  let failed = 0;
  for (const { path, headers } of signAll(service.baseUrl, targets, CREDENTIALS)) {
    const begun = performance.now();
    const { status } = await fetch(`${service.baseUrl}${path}`, { headers });
    ms.push(performance.now() - begun);
    if (status !== 200) failed += 1;
  }
  return { ms, failed };
}

function open(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => resolve(socket));
    socket.on("error", reject);
  });
}
