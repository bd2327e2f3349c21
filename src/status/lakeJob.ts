/**
 * The lake beside a collector: `quotekeeper lake` in a process of its own, now and then, so that nothing waits for it. What came
 * of it last stands in a file of the data directory, for `status`.
 */
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../ground/clock.ts";
import type { Log } from "../ground/log.ts";
import { parsedJson } from "../ground/outsideText.ts";
import { keepJson, readJson } from "../ground/plainFiles.ts";
import { runItself } from "../ground/processes.ts";
import type { LakeSight } from "../files/lake/whichLake.ts";
import { inNewYork } from "../market/durations.ts";
import type { Line } from "./statusJson.ts";

/** How often it is looked whether a day is over, or has changed, in ms; and when at first: a start has other things to do. */
const LOOK_EVERY_MS = 3_600_000;
const FIRST_LOOK_MS = 60_000;

const FILE = "lake-state.json";

const stateSchema = z.strictObject({
  at: z.iso.datetime(),
  /** The last exchange date that the lake has; null: none yet. */
  through: z.iso.date().nullable(),
  /** Dates of which the archive has fewer quotes than the lake. */
  kept: z.array(z.iso.date()),
  /** Since when runs fail, and why; null: the last one did not. */
  failed: z.object({ since: z.iso.datetime(), message: z.string() }).nullable(),
});

export type LakeState = z.infer<typeof stateSchema>;

/** The part of a run's output that is read; the rest is for people. */
const reported = z.object({
  through: z.iso.date().nullable(),
  kept: z.array(z.iso.date()),
  written: z.array(z.string()),
  rewritten: z.array(z.string()),
  dropped: z.array(z.unknown()),
  leftOut: z.array(z.object({ date: z.string().nullable(), why: z.string() })).default([]),
  notDropped: z.array(z.object({ from: z.string(), to: z.string(), why: z.string() })),
});

const refused = z.object({ error: z.object({ code: z.string(), detail: z.string() }) });

/** It; `close` ends a run that is under way, which the next start goes on with. */
type LakeJob = { state: () => LakeState | null; close: () => Promise<void> };

export type LakeJobOptions = {
  dataDir: string;
  dropsHot: boolean;
  clock: Clock;
  log: Log;
  /** Default: this program, in a process of its own. */
  run?: typeof runItself;
};

/** Begins to write the lake, and drops old quotes behind it where `dropsHot`. */
export function keepLake({ dataDir, dropsHot, clock, log, run = runItself }: LakeJobOptions): LakeJob {
  const closing = new AbortController();
  let state: LakeState | null = null;
  const look = async (): Promise<void> => {
    const words = ["lake", "--json", ...(dropsHot ? ["--drop-hot"] : [])];
    const next = learn(await run(words, closing.signal), { before: state, at: clock.now().toISOString() });
    if (closing.signal.aborted || next === null) return;
    tell(log, state, next);
    state = next;
    await noteLake(dataDir, state);
  };
  const running = (async () => {
    state = await readLakeState(dataDir);
    await clock.sleep(FIRST_LOOK_MS, closing.signal);
    for (;;) {
      await look();
      await clock.sleep(LOOK_EVERY_MS, closing.signal);
    }
  })().catch(() => undefined);
  return {
    state: () => state,
    close: async () => {
      closing.abort();
      await running;
    },
  };
}

/** What a run's output means; null: another program was at work. */
function learn(
  { stdout, stderr }: { stdout: string; stderr: string },
  { before, at }: { before: LakeState | null; at: string },
): LakeState | null {
  const since = before?.failed?.since ?? at;
  const report = reported.safeParse(parsedJson(stdout));
  if (report.success) {
    const [left] = report.data.leftOut;
    const failed = left && {
      since,
      message: `${left.date ?? "A table"} is not whole in the lake: ${left.why}.`,
    };
    return { at, through: report.data.through, kept: report.data.kept, failed: failed ?? null };
  }
  const line = stderr.trimEnd().split("\n").at(-1) ?? "";
  const error = refused.safeParse(parsedJson(line));
  if (error.success && error.data.error.code === "LAKE_BUSY") return null;
  const { code, detail } = error.success ? error.data.error : { code: "LAKE_WRITE_FAILED", detail: line };
  const message = `${code}: ${detail}`;
  return { at, through: before?.through ?? null, kept: before?.kept ?? [], failed: { since, message } };
}

function tell(log: Log, before: LakeState | null, now: LakeState): void {
  if (now.failed && now.failed.message !== before?.failed?.message)
    log.error({ reason: now.failed.message }, "the lake could not be written; it is tried again each hour");
  else if (!now.failed && before?.failed) log.info({ through: now.through }, "the lake is written again");
  else if (!now.failed && now.through !== null && now.through !== before?.through)
    log.info({ through: now.through }, "the lake has all days through this one");
}

export async function readLakeState(dataDir: string): Promise<LakeState | null> {
  return readJson(join(dataDir, FILE), stateSchema);
}

/** Notes what came of a run in the data directory; without that, `status` knows less. */
export async function noteLake(dataDir: string, state: LakeState): Promise<void> {
  await keepJson(join(dataDir, FILE), state);
}

/**
 * What `status` says of the lake.
 *
 * @param state what came of the runs; null: none was noted
 * @param sight what there is to see of the lake now
 */
export function lakeLine(state: LakeState | null, sight: LakeSight): Line {
  const line = (how: Line["state"], text: string): Line => ({ subject: "lake", state: how, text });
  const { failed = null, kept = [] } = state ?? {};
  if (sight.fault !== null) return line("attention", sight.fault);
  if (failed)
    return line("attention", `${failed.message} Failing since ${inNewYork(new Date(failed.since))}.`);
  if (kept.length > 0)
    return line(
      "attention",
      `the archive has fewer quotes of ${kept.slice(0, 3).join(", ")}${kept.length > 3 ? " and others" : ""} than the lake: \`quotekeeper lake restore\` brings them back`,
    );
  if (sight.through !== null) return line("ok", `all days through ${sight.through}`);
  return state === null ? line("idle", "nothing is written yet") : line("ok", "no day is over yet");
}
