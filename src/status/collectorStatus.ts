/** What `status` says of the collector: whether one lives, and what should have been polled since one did. Pure. */
import type { FleetRows } from "../archive/ledger/fleetTypes.ts";
import type { KnownLeases } from "../accounts/lease/leaseFile.ts";
import type { SeenHere } from "../schedule/clockFile.ts";
import { inNewYork, roughly } from "../market/durations.ts";
import type { Line, StatusReport } from "./statusJson.ts";
import { someNames } from "../ground/figures.ts";

type CollectorStatus = StatusReport["collector"];

/**
 * A collector that was not seen for so long does not live, in ms. It tells of itself every 2 s in the database and every 5 s in its
 * data directory; the rest is for a machine that is busy.
 */
const LIVES_MS = 15_000;

/** For so long after its file says that it has ended, a collector may still be seen in the database, in ms. */
const CLOSING_MS = 15_000;

/** How far back a slot that nobody polled is looked for, in ms. */
const LOOKED_BACK_MS = 366 * 86_400_000;

const MOST_NAMES = 3;

type Sighting = { name: string | null; version: string | null; agoMs: number; ended: boolean };

type Evidence = {
  /** What the database says; null: it does not answer, or holds no archive of this version. */
  fleet: FleetRows | null;
  here: SeenHere | null;
  lease: Pick<KnownLeases, "id" | "name" | "others"> | null;
  /** Whether the collector of this very process has yet to begin. */
  isStarting: boolean;
  /** The first slot of a job after an instant; null: none, or the jobs are not known. */
  slotAfter: (at: Date) => { job: string; at: Date } | null;
  now: Date;
};

export function collectorOf({ fleet, here, lease, isStarting, slotAfter, now }: Evidence): CollectorStatus {
  const seen = sightings(fleet, here, lease).sort((a, b) => a.agoMs - b.agoMs);
  const living = seen.filter(({ agoMs, ended }) => !ended && agoMs <= LIVES_MS);
  const ended = seen.filter((one) => one.ended);
  const counts = {
    running: living.length,
    stopped: ended.length,
    gone: seen.length - living.length - ended.length,
  };
  const [last] = living.length > 0 ? living : seen;
  const seenAt = last ? new Date(now.getTime() - last.agoMs) : null;
  const found = {
    names: (living.length > 0 ? living : seen.slice(0, 1)).flatMap(({ name }) => name ?? []),
    version: last?.version ?? null,
    seenAt: seenAt?.toISOString() ?? null,
    overdue: null,
    ...counts,
  };
  if (living.length > 0) return { state: "running", ...found };
  if (isStarting) return { state: "starting", ...found };
  if (fleet === null && (!last || lease?.others === true)) return { state: "unknown", ...found };
  if (!last || !seenAt) return { state: "none", ...found };
  const slot = slotAfter(new Date(Math.max(seenAt.getTime(), now.getTime() - LOOKED_BACK_MS)));
  const overdue = slot && slot.at <= now ? { job: slot.job, at: slot.at.toISOString() } : null;
  return { state: last.ended ? "stopped" : "gone", ...found, overdue };
}

/** Each collector once: this machine's own by its row or its file, whichever is newer. */
function sightings(
  fleet: FleetRows | null,
  here: SeenHere | null,
  lease: Pick<KnownLeases, "id" | "name"> | null,
): Sighting[] {
  const rows = (fleet?.collectors ?? []).map(({ id, name, version, state, seenAgoMs }) => {
    // The database's clock was set back since it was seen.
    const agoMs = state === "gone" ? Math.max(seenAgoMs, LIVES_MS + 1) : seenAgoMs;
    return { id, name, version, agoMs, ended: state === "stopped" };
  });
  if (here === null) return rows;
  const own = rows.find(({ id }) => id === lease?.id);
  if (!own) return [...rows, { name: lease?.name ?? null, version: null, ...here }];
  const isNewer = here.agoMs < own.agoMs + (here.ended ? CLOSING_MS : 0);
  return isNewer ? rows.map((row) => (row === own ? { ...own, ...here } : row)) : rows;
}

export function isPolled({ state }: Pick<CollectorStatus, "state">): boolean {
  return state === "running" || state === "starting";
}

/** @param jobsKnown whether job files say what is due */
export function collectorLine(collector: CollectorStatus, jobsKnown: boolean, now: Date): Line {
  const { state, names, version, seenAt, overdue, running } = collector;
  const line = (its: Line["state"], text: string): Line => ({ subject: "collector", state: its, text });
  const who = names.length > 0 ? someNames(names, MOST_NAMES) : "the collector of this data directory";
  if (state === "starting") return line("idle", "it is starting");
  if (state === "none") return line("idle", "none has run yet: `quotekeeper start` begins to poll");
  const at = seenAt === null ? now : new Date(seenAt);
  const ago = `${roughly(now.getTime() - at.getTime())} ago`;
  if (state === "running") {
    const runs = running > 1 ? "run" : ["runs", version].join(" ").trimEnd();
    return line("ok", `${who} ${runs}, seen ${ago}`);
  }
  if (state === "unknown") {
    const own = seenAt === null ? "none has run on this data directory" : `${who} does not run here`;
    return line("idle", `not known: the database does not tell, and ${own}`);
  }
  const how = state === "stopped" ? "stopped" : "was last seen (killed, frozen, or its machine is away)";
  const since = `no collector has run since ${inNewYork(at)}, when ${who} ${how}`;
  if (overdue) {
    const due = `${overdue.job} was due at ${inNewYork(new Date(overdue.at))}`;
    return line("attention", `${since}, and ${due}: \`quotekeeper start\` goes on`);
  }
  if (jobsKnown) return line("idle", `${since}; nothing was due`);
  return line(
    state === "gone" ? "attention" : "idle",
    `${since}; what is due is not known here, without job files`,
  );
}
