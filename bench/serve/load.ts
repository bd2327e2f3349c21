/** Load: requests that were signed beforehand, each with a nonce of its own, sent by autocannon. */
import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import autocannon, { type Request } from "autocannon";
import { type Credentials, signRequest } from "../../src/services/oauth/signature.ts";
import type { Server } from "./server.ts";

/** What a round measured. */
export type Round = {
  perSecond: number;
  p99Ms: number;
  /** Processor time of the server for each request, µs. */
  cpuMicros: number;
};

/** Connections, each with one request under way. */
export const CONNECTIONS = 16;

/** A request is good for 10 s before and after its timestamp (`TIMESTAMP_WINDOW_SECONDS`). */
const AHEAD_SECONDS = 8;

/** Signs requests for a server, by several tokens in turn. */
export function signAll(
  baseUrl: string,
  targets: readonly string[],
  credentials: readonly Credentials[],
): Request[] {
  const timestamp = Math.floor(Date.now() / 1000) + AHEAD_SECONDS;
  return targets.map((target, place) => {
    const by = credentials[place % credentials.length];
    if (!by) throw new Error("no credentials");
    const nonce = randomBytes(12).toString("hex");
    const authorization = signRequest({
      method: "GET",
      url: `${baseUrl}${target}`,
      credentials: by,
      nonce,
      timestamp,
    });
    return { method: "GET", path: target, headers: { authorization } };
  });
}

/** Sends every request once. @throws when one of them is not answered with status 200 */
export async function sendAll(server: Server, requests: readonly Request[]): Promise<Round> {
  const share = Math.floor(requests.length / CONNECTIONS);
  const amount = share * CONNECTIONS;
  const times: number[] = [];
  const statuses = new Map<number, number>();
  let client = 0;
  const run = autocannon({
    url: server.baseUrl,
    connections: CONNECTIONS,
    amount,
    setupClient: (connection) =>
      connection.setRequests(requests.slice(client * share, ++client * share) as Request[]),
  });
  // The clients write their first requests as soon as they are made, all in one turn of the loop.
  const begun = performance.now();
  const cpu = server.cpuMs();
  let ended = begun;
  run.on("response", (_client: unknown, status: number, _bytes: number, ms: number) => {
    times.push(ms);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    ended = performance.now();
  });
  await run;
  const good = statuses.get(200) ?? 0;
  if (good !== amount) throw new Error(`of ${amount} answers: ${JSON.stringify([...statuses])}`);
  times.sort((a, b) => a - b);
  return {
    perSecond: (1_000 * amount) / (ended - begun),
    p99Ms: times[Math.floor(times.length * 0.99)] ?? NaN,
    cpuMicros: (1_000 * (server.cpuMs() - cpu)) / amount,
  };
}

/** The middle one of several numbers. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;
}
