/** A collector that takes over from that of an earlier release, and the way back. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPool } from "../../../src/archive/connect/connect.ts";
import { Auditor } from "../../faults/kit/audit.ts";
import { auditLedger } from "../../faults/kit/ledgerAudit.ts";
import { finish, launch, must, promised, runs, until } from "../programs.ts";
import { ask, digestOf, expectSame, makeDatabase, wishesOn } from "./archives.ts";
import { given, type Release, type Way } from "./earlier.ts";

const STEP_S = 3;
const JOB = `name: followed\nschedule: "*/${STEP_S} * * * * *"\nsymbols: [AAPL, GE, IBM, NOSUCH]\n`;

/** Slots that each collector sees settled. */
const SLOTS = 3;

type Place = { dataDir: string; url: string };

/**
 * The earlier collector is stopped, begins again and is killed with kill -9; each later one takes over in turn, on the same data
 * directory and database.
 *
 * @returns what was seen
 */
export async function succeed(
  way: Way,
  { dataDir, url, server }: Place & { server: string },
): Promise<string> {
  mkdirSync(join(dataDir, "jobs"), { recursive: true });
  writeFileSync(join(dataDir, "jobs", "followed.yaml"), JOB);
  await must(process.execPath, [way.from.bin, "migrate", ...(await wishesOn(server))], given(dataDir, url));
  await collect(way.from, { dataDir, url, signal: "SIGTERM" });
  await collect(way.from, { dataDir, url, signal: "SIGKILL" });
  // What was journaled and not yet loaded at the kill.
  await must(process.execPath, [way.from.bin, "backfill", "--journal"], given(dataDir, url));
  const before = await digestOf(url);
  for (const step of way.steps) {
    await must(process.execPath, [step.bin, "migrate"], given(dataDir, url));
    await expectSame(url, before, `handed over to ${step.name}`);
  }
  const [today] = way.steps.slice(-1);
  if (today === undefined) throw new Error("a way has a step");
  await collect(today, { dataDir, url, signal: "SIGTERM" });
  const bars = await digestOf(url);
  await ask(url, "select recompute_session_bars('2000-01-01', '2099-12-31')");
  await expectSame(url, bars, "bars of both collectors, recomputed");
  return expectWhole({ dataDir, url });
}

async function collect(
  { bin, name }: Release,
  { dataDir, url, signal }: Place & { signal: "SIGTERM" | "SIGKILL" },
): Promise<void> {
  const { cwd, env } = given(dataDir, url);
  const slots = async (): Promise<number> =>
    Number((await ask(url, "select count(*) as n from slots"))[0]?.["n"]);
  const there = await slots();
  const collector = launch(process.execPath, [bin, "collect"], {
    cwd,
    env: { ...env, QUOTEKEEPER_JOBS_DIR: join(dataDir, "jobs") },
  });
  await until(async () => !runs(collector) || (await slots()) >= there + SLOTS);
  promised(runs(collector), `the collector of ${name} goes on`, collector.text());
  collector.child.kill(signal);
  const end = await collector.closed;
  promised(
    end === (signal === "SIGTERM" ? 0 : signal),
    `the collector of ${name} ends by ${signal}`,
    collector.text(),
  );
}

/** Nothing lost, nothing twice: each answer of the journal has its rows, each slot adds up, and none is missing. */
async function expectWhole({ dataDir, url }: Place): Promise<string> {
  const pool = createPool(url, { max: 2 });
  try {
    const audit = await new Auditor(pool, join(dataDir, "journal")).check({ complete: true });
    const ledger = await auditLedger(pool, [{ name: "followed", stepMs: STEP_S * 1_000 }]);
    promised(audit.violations.length === 0, "the journal's rows", audit.violations);
    promised(ledger.violations.length === 0, "the ledger adds up", ledger.violations);
    return `${audit.journaled} answers, ${audit.quotes} quotes, ${ledger.slots} slots, due ${ledger.due}, missed ${ledger.missed}`;
  } finally {
    await pool.end();
  }
}

/**
 * The earlier program refuses the newer database, and makes its archive from the journal in an empty one, what the later program
 * wrote into the journal included.
 */
export async function goBack(
  { from, steps }: Way,
  { dataDir, url, server }: Place & { server: string },
): Promise<string> {
  const refused = await finish(process.execPath, [from.bin, "migrate"], given(dataDir, url));
  promised(refused.code === 1 && /DATABASE_NEWER/.test(refused.text), "DATABASE_NEWER", refused.text);
  const back = await makeDatabase(server, "back");
  try {
    const { code, text } = await finish(
      process.execPath,
      [from.bin, "backfill", "--journal"],
      given(dataDir, back.url),
    );
    promised(code === 0, `${from.name} reads the journal of ${steps.at(-1)?.name ?? ""}`, text);
    const rows = await differences(url, back.url);
    promised(rows.length === 0, "the same quotes and ledger, there and back", rows);
    return `${from.name} made ${await countOf(back.url)} quotes from the journal again`;
  } finally {
    await back.drop();
  }
}

const COMPARED = {
  quotes: `select i.symbol, q.observed_at, q.bid, q.ask, q.last from quotes q join instruments i on i.id = q.instrument_id order by 2, 1`,
  slots: "select job, slot_at, due, stored, missed from slots order by 1, 2",
  misses: "select job, slot_at, instrument, reason from misses order by 1, 2, 3",
};

async function differences(url: string, back: string): Promise<string[]> {
  const found: string[] = [];
  for (const [table, question] of Object.entries(COMPARED)) {
    const [there, here] = [await ask(url, question), await ask(back, question)];
    if (JSON.stringify(there) !== JSON.stringify(here))
      found.push(`${table}: ${there.length} and ${here.length} rows`);
  }
  return found;
}

async function countOf(url: string): Promise<number> {
  return Number((await ask(url, "select count(*) as n from quotes"))[0]?.["n"]);
}
