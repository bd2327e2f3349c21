/** The dashboard on a real socket, over a test's database. */
import { request as httpRequest } from "node:http";
import { afterAll, expect } from "@jest/globals";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import type { News } from "../../src/web/api/types.ts";
import type { NowSources } from "../../src/web/live.ts";
import { startWeb, type Web } from "../../src/web/server.ts";
import { createTestClock } from "../support/clock.ts";
import { silentLog } from "../support/silentLog.ts";
import { CALM_STATUS } from "./browser/crowd.ts";

const open: Web[] = [];
afterAll(async () => {
  for (const web of open) await web.close();
});

/** A feed that is simulated, and nothing to tell of it. */
export const SOURCES: NowSources = {
  feed: { simulated: true, address: null },
  collects: false,
  live: () => null,
  status: async () => CALM_STATUS,
  journal: async () => ({ bytes: 1_000, segments: 1 }),
};

type WebOptions = Parameters<typeof startWeb>[0];

/** Starts it; it is closed when the test file ends. */
export async function openDashboard(options: Pick<WebOptions, "pool"> & Partial<WebOptions>) {
  const web = await startWeb({
    clock: createTestClock(),
    log: silentLog,
    host: "127.0.0.1",
    port: 0,
    token: null,
    attribution: null,
    version: "0.0.0",
    address: "127.0.0.1/quotes",
    calendar: createCalendar(),
    sources: SOURCES,
    ...options,
  });
  open.push(web);
  const { address, close } = web;
  return { address, close, get: (path: string, init?: RequestInit) => fetch(`${address}${path}`, init) };
}

/** The status of a request whose `Host` header is not the address it goes to: `fetch` does not let one choose. */
export function statusAs(address: string, path: string, host: string): Promise<number> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    httpRequest({ hostname, port, path, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

/** Asks the API of a dashboard over a pool; each answer has to be 200. @returns the view that is in it, or the whole answer */
export function askOn(pool: WebOptions["pool"]) {
  return async <T>(path: string): Promise<T> => {
    const { get } = await openDashboard({ pool });
    const response = await get(path);
    expect([path, response.status]).toEqual([path, 200]);
    const body = (await response.json()) as T | News<T>;
    return (body as News<T>).cursor === undefined ? (body as T) : ((body as News<T>).view as T);
  };
}
