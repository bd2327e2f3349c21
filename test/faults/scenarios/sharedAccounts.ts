/**
 * Accounts share the jobs: their file is broken while they are called, a fourth one comes, one is drained and one is
 * refused in the middle, and both come back.
 */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { wantAccount } from "../../../src/archive/ledger/accountRows.ts";
import { readSegment } from "../../../src/journal/reader.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import type { Credentials } from "../../../src/services/oauth/signature.ts";
import { systemClock } from "../../../src/ground/clock.ts";
import { accountYaml, credentialsOf, variableOf } from "../../support/accounts.ts";
import { until } from "../../support/until.ts";
import { pollOnce } from "../kit/poll.ts";
import type { SharedService } from "../kit/sharedService.ts";
import { CREDENTIALS, type World } from "../kit/world.ts";
import { conclude, type Verdict, watchMemory } from "./verdict.ts";

/** Their names; the first has the credentials of every collector. */
export const NAMES = ["main", "second", "third", "fourth"] as const;

/** What each signs with. */
export function sharedKeys(): Map<string, Credentials> {
  return new Map(NAMES.map((name, place) => [name, place === 0 ? CREDENTIALS : credentialsOf(name)]));
}

/** The settings that hold the secrets of all. */
export function sharedSecrets(): Record<string, string> {
  return Object.fromEntries(
    [...sharedKeys()].flatMap(([name, keys]) =>
      Object.entries(keys).map(([what, value]) => [variableOf(name, what), value]),
    ),
  );
}

/** The limit of each account. */
type Limit = { limit: number; windowMs: number };

/** How it goes. */
type Course = Limit & {
  service: SharedService;
  /** Slots that pass in each of the four parts: all, one drained, one refused besides, both back. */
  slots: number;
  /** The most slots in a row that an instrument may lack; null: the machine's speed is not to matter. */
  longestGap: number | null;
};

/** Runs it. */
export async function shareAccounts(world: World, course: Course): Promise<Verdict> {
  const { service, slots } = course;
  const { pool } = world;
  const write = (...names: string[]): void => writeShared(world, course, names);
  write("main", "second", "third");
  // So that the first slots are known to be of a simulated market, whichever account answers first.
  await pollOnce(world.env(), { account: "second", directory: dirname(world.dataDir) });
  const collector = world.collect();
  const memory = watchMemory(() => collector);
  const nowMs = (): number => systemClock.now().getTime();
  const stateOf = async (name: string): Promise<unknown> =>
    (await pool.query("select state from accounts where name = $1", [name])).rows[0]?.state;
  const pass = async (): Promise<void> => {
    const fromMs = nowMs();
    await until(async () => (await settledSince(world, fromMs)) >= slots, `${slots} slots settled`);
  };
  const violations: string[] = [];
  try {
    await pass();
    writeFileSync(fileOf(world), "accounts: [");
    const staysInForce = (): boolean => collector.output().includes("stay in force");
    await until(staysInForce, "the collector complaining of the broken file");
    write(...NAMES);
    await until(async () => (await stateOf("fourth")) === "active", "the fourth account");
    await pass();
    await wantAccount(pool, "second", "drained");
    await until(async () => (await stateOf("second")) === "drained", "the second account drained");
    const drainedMs = nowMs();
    await pass();
    service.refuse("third", true);
    await until(async () => (await stateOf("third")) === "refused", "the third account refused");
    await pass();
    const late = await callsOf(world, "second", { fromMs: drainedMs, toMs: nowMs() });
    if (late > 0) violations.push(`${late} calls of the account that was drained`);
    await wantAccount(pool, "second", "active");
    service.refuse("third", false);
    await until(async () => (await stateOf("second")) === "active", "the second account called again");
    await pass();
  } finally {
    memory.stop();
  }
  const calls = service.calls();
  const byAccount = NAMES.map((name) => [name, calls.filter(({ account }) => account === name)] as const);
  for (const [name, own] of byAccount) {
    const faults = own.filter(({ status }) => status === 429).length;
    if (faults > 0) violations.push(`${faults} calls of ${name} were above its limit`);
  }
  const verdict = await conclude(world, {
    ...{ scenario: "accounts", collector, peakMb: memory.peakMb() },
    did: `three accounts, a broken file, a fourth one, one drained and one refused, ${slots} slots each`,
    figures: Object.fromEntries(byAccount.map(([name, own]) => [name, own.length])),
  });
  const unauthorized = await pool.query("select from misses where reason = 'unauthorized'");
  if (unauthorized.rows.length > 0)
    violations.push(
      `${unauthorized.rows.length} misses of a refused account that another could have asked for`,
    );
  const { longestGap = 0 } = verdict.figures;
  if (course.longestGap !== null && longestGap > course.longestGap)
    violations.push(`a gap of ${longestGap} slots`);
  return { ...verdict, violations: [...verdict.violations, ...violations] };
}

/** Answers to an account for slots that began within a span, as the journal has them. */
async function callsOf(
  { journalDir }: World,
  account: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<number> {
  let count = 0;
  for (const { name } of await listSegments(journalDir))
    for await (const item of readSegment(journalDir, name)) {
      if (item.kind !== "record" || item.record.kind !== "response") continue;
      const slotMs = Date.parse(item.record.slotAt ?? "");
      if (item.record.account === account && slotMs > fromMs && slotMs < toMs) count += 1;
    }
  return count;
}

/** Slots of all jobs that have begun since then and are settled: the fewest of any job. */
async function settledSince({ pool, jobs }: World, sinceMs: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(distinct slot_at)::int as count from slots where slot_at > $1 and job = any ($2) group by job`,
    [new Date(sinceMs).toISOString(), jobs.map(({ name }) => name)],
  );
  return rows.length < jobs.length ? 0 : Math.min(...rows.map(({ count }) => count));
}

function fileOf({ dataDir }: World): string {
  return join(dirname(dataDir), "jobs", "accounts.yaml");
}

/** Has the collectors of a world call these accounts of its service. */
export function writeShared(world: World, { limit, windowMs }: Limit, names: readonly string[]): void {
  const options = { baseUrl: world.feed.baseUrl, limit: `${limit}`, windowMs: `${windowMs}` };
  const accounts = names.map((name) => accountYaml(name, options));
  writeFileSync(fileOf(world), `accounts:\n${accounts.join("")}`);
}

/** Waits until each account was called and answered. */
export async function allCalled(service: SharedService): Promise<void> {
  const before = service.calls().length;
  await until(() => {
    const called = new Set<string>();
    const all = service.calls();
    for (let place = before; place < all.length; place += 1)
      if (all[place]?.status === 200) called.add(all[place]?.account ?? "");
    return called.size === NAMES.length;
  }, "each account being called");
}
