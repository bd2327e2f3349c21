/** What came of the heartbeats of `start` and `collect`, in a file of the data directory, for `status` of other processes. */
import { join, resolve } from "node:path";
import { z } from "zod";
import type { Config } from "../config/loadEnvironment.ts";
import { keepJson, readJson } from "../ground/plainFiles.ts";
import { inNewYork } from "../market/durations.ts";
import type { Line } from "./statusJson.ts";

const FILE = "heartbeat.json";

const stateSchema = z.strictObject({
  /** When the last GET to the heartbeat's address was taken; null: none was. */
  sentAt: z.iso.datetime().nullable(),
  /** Since when `status` needs a person, and so none is sent; null: it does not. */
  silentSince: z.iso.datetime().nullable(),
  /** Since when GETs are not taken, by which host, and why; null: the last one was. */
  failed: z.object({ since: z.iso.datetime(), host: z.string(), why: z.string() }).nullable(),
});

export type HeartbeatState = z.infer<typeof stateSchema>;

export type HeartbeatUrls = Pick<Config, "heartbeatUrl" | "heartbeatFailUrl">;

/** Null: none was sent from this data directory. */
export async function readHeartbeatState(dataDir: string): Promise<HeartbeatState | null> {
  return readJson(join(dataDir, FILE), stateSchema);
}

export async function keepHeartbeatState(dataDir: string, state: HeartbeatState): Promise<void> {
  await keepJson(join(dataDir, FILE), state);
}

/** All of an address that may be shown. */
export function hostOf(url: string): string {
  return new URL(url).host;
}

/** A heartbeat that runs was taken within this time, in ms. */
const FRESH_MS = 3 * 60_000;

/**
 * What `status` says of the heartbeat; no line where none is wanted. It never needs a person, or a heartbeat that was not taken once
 * would be held back for ever.
 */
export async function heartbeatLines(
  { heartbeatUrl, heartbeatFailUrl, dataDir }: HeartbeatUrls & Pick<Config, "dataDir">,
  now: Date,
): Promise<Line[]> {
  const url = heartbeatUrl ?? heartbeatFailUrl;
  if (url === undefined) return [];
  const host = hostOf(url);
  const state = await readHeartbeatState(resolve(dataDir));
  const line = (how: Line["state"], text: string): Line[] => [{ subject: "heartbeat", state: how, text }];
  if (state === null) return line("idle", `${host} has got none yet`);
  const { sentAt, silentSince, failed } = state;
  const moment = (at: string): string => inNewYork(new Date(at));
  const last = sentAt === null ? "" : `, the last that was taken is of ${moment(sentAt)}`;
  if (failed)
    return line("idle", `NOT TAKEN by ${failed.host} since ${moment(failed.since)}: ${failed.why}${last}`);
  if (silentSince !== null)
    return line("idle", `held back since ${moment(silentSince)}, because something needed a person${last}`);
  const isFresh = sentAt !== null && Math.abs(now.getTime() - Date.parse(sentAt)) < FRESH_MS;
  return line(isFresh ? "ok" : "idle", `to ${host}${last}`);
}
