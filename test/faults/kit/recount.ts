/**
 * What each slot must say, told from two things alone: the bytes of the journal's answers and the service's own log of
 * arrivals. Nothing of the program's ledger or parsing is used: an answer's names are found with another parser, slots
 * are counted with a ruler, and what was due is known from the job files.
 */
import type pg from "pg";
import { readSegment } from "../../../src/journal/reader.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import { secondOpinion } from "../../support/saxes.ts";
import { type Leaves, parsedItems } from "../../support/secondOpinion.ts";
import type { Arrival } from "./feed.ts";
import type { DueJob } from "./jobs.ts";

/** Findings listed at most; beyond, they are only counted. */
const MOST_FINDINGS = 10;

/** What the recount found. */
export type Recount = {
  slots: number;
  /** Instruments at slots: due, and those of them that an answer stored. */
  due: number;
  stored: number;
  /** Calls that reached the service and whose answer no journal has. */
  lost: Arrival[];
  /** The most slots in a row at which an instrument was due and not stored. */
  longestGap: number;
  /** Each time that an instrument was not stored at two slots in a row or more; of those at the same slots the first one. */
  gaps: Gap[];
  violations: string[];
};

/** From the first slot that lacks an instrument to the first one that has it again, epoch ms UTC. */
export type Gap = { job: string; name: string; slots: number; fromMs: number; toMs: number };

/** An answer as the journal has it. */
type Answered = { id: string; account: string; askedMs: number; names: string[] };

/** What is recounted. */
export type RecountOf = {
  /** The journals of all collectors. */
  journalDirs: readonly string[];
  /** The service's own log. */
  arrivals: readonly Arrival[];
  jobs: readonly DueJob[];
  /** The last collector was asked to end, and had ended; epoch ms UTC: its last slot is one that lasted in between. */
  ended: { fromMs: number; toMs: number };
  /** The wall clock was set meanwhile: which slots there were, the ledger alone knows. */
  clockMoved?: boolean;
};

/** Compares the ledger with the recount. */
export async function recount(
  pool: pg.Pool,
  { journalDirs, arrivals, jobs, ended, clockMoved = false }: RecountOf,
): Promise<Recount> {
  const answers = (await Promise.all(journalDirs.map(readAnswers))).flat();
  const findings: string[] = [];
  const seen = new Map(arrivals.map((arrival) => [arrival.id, arrival]));
  for (const { id } of answers)
    if (!seen.delete(id)) findings.push(`answer ${id} never left the service, or came twice`);
  const totals = { slots: 0, due: 0, stored: 0, longestGap: 0 };
  const gaps: Gap[] = [];
  for (const job of jobs) {
    const found = await readSlots(pool, job.name);
    const last = Math.min(Math.max(ended.fromMs, ...found.keys()), ended.toMs);
    // A run may have been killed after it had begun a slot and before anything was answered.
    const slots = clockMoved
      ? [...found.keys()]
      : ruler(job, Math.min(...found.keys(), ...askedOf(job, answers)), last);
    const expected = storedAt(job, slots, answers);
    findings.push(...askedTwice(job, answers));
    const its = gapsOf(job, expected);
    totals.longestGap = Math.max(totals.longestGap, ...its.map((gap) => gap.slots));
    gaps.push(...its.filter((gap) => gap.slots > 1));
    const coverage = new Map<string, number>();
    for (const [slotMs, stored] of expected) {
      const at = new Date(slotMs).toISOString();
      const slot = found.get(slotMs);
      totals.slots += 1;
      totals.due += job.names.length;
      totals.stored += stored.size;
      for (const name of stored) coverage.set(name, (coverage.get(name) ?? 0) + 1);
      const missing = job.names.filter((name) => !stored.has(name)).sort();
      if (!slot) findings.push(`${job.name} at ${at} is not in the ledger`);
      else if (slot.due !== job.names.length || slot.stored !== stored.size || slot.missed !== missing.length)
        findings.push(
          `${job.name} at ${at}: ${slot.due} = ${slot.stored} + ${slot.missed}, and it was ${job.names.length} = ${stored.size} + ${missing.length}${inDetail(slot, { missing, answers, slotMs, stepMs: job.stepMs })}`,
        );
      else if (slot.names.join() !== missing.join() && slot.names.join() !== "*")
        findings.push(`${job.name} at ${at}: other instruments were missed than the ledger says`);
    }
    for (const slotMs of found.keys())
      if (!expected.has(slotMs))
        findings.push(`${job.name} at ${new Date(slotMs).toISOString()} was no slot`);
    findings.push(...(await compareCoverage(pool, jobs, job, coverage)));
  }
  const violations = findings.slice(0, MOST_FINDINGS);
  if (findings.length > MOST_FINDINGS) violations.push(`${findings.length - MOST_FINDINGS} more`);
  return { ...totals, gaps, lost: [...seen.values()], violations };
}

/** Every step from the one that an instant lies in. */
function ruler({ stepMs }: DueJob, fromMs: number, toMs: number): number[] {
  const slots: number[] = [];
  for (let slotMs = Math.floor(fromMs / stepMs) * stepMs; slotMs <= toMs; slotMs += stepMs)
    slots.push(slotMs);
  return slots;
}

/** When something of a job was asked. */
function askedOf({ names }: DueJob, answers: readonly Answered[]): number[] {
  const due = new Set(names);
  return answers.filter((answer) => answer.names.some((name) => due.has(name))).map(({ askedMs }) => askedMs);
}

/** What was asked for within each slot and answered. */
function storedAt(
  { names, stepMs }: DueJob,
  slots: readonly number[],
  answers: readonly Answered[],
): Map<number, Set<string>> {
  const due = new Set(names);
  const stored = new Map(slots.map((slotMs) => [slotMs, new Set<string>()]));
  for (const answer of answers)
    for (const name of answer.names.filter((one) => due.has(one))) {
      const slotMs = Math.floor(answer.askedMs / stepMs) * stepMs;
      stored.set(slotMs, (stored.get(slotMs) ?? new Set()).add(name));
    }
  return stored;
}

/** What two accounts have brought at one slot: it was asked by both. */
function askedTwice({ names, stepMs }: DueJob, answers: readonly Answered[]): string[] {
  const due = new Set(names);
  const askedBy = new Map<string, string>();
  const twice: string[] = [];
  for (const { account, askedMs, names: brought } of answers)
    for (const name of brought.filter((one) => due.has(one))) {
      const at = `${name} at ${new Date(Math.floor(askedMs / stepMs) * stepMs).toISOString()}`;
      const first = askedBy.get(at) ?? account;
      askedBy.set(at, first);
      if (first !== account) twice.push(`${at} was asked by ${first} and by ${account}`);
    }
  return twice;
}

/** Slots in a row, in their order, that lack a name. */
function gapsOf(
  { name: job, names, stepMs }: DueJob,
  stored: ReadonlyMap<number, ReadonlySet<string>>,
): Gap[] {
  const inOrder = [...stored].sort(([a], [b]) => a - b);
  const gaps = new Map<string, Gap>();
  for (const name of names) {
    let slots = 0;
    for (const [place, [slotMs, found]] of inOrder.entries()) {
      slots = found.has(name) ? 0 : slots + 1;
      if (slots === 0 || inOrder[place + 1]?.[1].has(name) === false) continue;
      const fromMs = inOrder[place - slots + 1]?.[0] ?? slotMs;
      const key = `${fromMs} ${slots}`;
      if (!gaps.has(key)) gaps.set(key, { job, name, slots, fromMs, toMs: slotMs + stepMs });
    }
  }
  return [...gaps.values()];
}

async function readAnswers(journalDir: string): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (const { name } of await listSegments(journalDir))
    for await (const item of readSegment(journalDir, name)) {
      if (item.kind !== "record" || item.record.kind !== "response" || item.record.status !== 200) continue;
      const { body, requestedAt, account = "default" } = item.record;
      const { id } = secondOpinion(Buffer.from(body).toString("utf8"));
      const askedMs = Date.parse(requestedAt);
      answers.push({ id: id ?? "", account, askedMs, names: parsedItems(body).map(nameOf) });
    }
  return answers;
}

function nameOf(leaves: Leaves): string {
  const [sym = "", matdt = "", putcall, strkpx] = ["sym", "matdt", "putcall", "strkpx"].map(
    (name) => leaves[`instrument/${name}`],
  );
  if (putcall === undefined) return sym;
  return `${sym}:${matdt.slice(0, 10)}:${putcall === "1" ? "CALL" : "PUT"}:${Number(strkpx)}`;
}

/** Where the ledger and the journal say something else: what is missed, why and whose it was, and when it was answered. */
function inDetail(
  { names, reasons }: LedgerSlot,
  of: { missing: readonly string[]; answers: readonly Answered[]; slotMs: number; stepMs: number },
): string {
  const wrong = names.flatMap((name, place) => {
    if (name === "*" || of.missing.includes(name)) return [];
    const when = of.answers.flatMap((answer) => {
      const sinceMs = answer.askedMs - of.slotMs;
      const isOf = answer.names.includes(name) && sinceMs >= 0 && sinceMs < of.stepMs;
      return isOf ? [`${answer.account} ${sinceMs} ms after it`] : [];
    });
    return [`${name} is missed as ${reasons[place]}, and was asked for by ${when.join(" and by ")}`];
  });
  return wrong.map((one) => `; ${one}`).join("");
}

type LedgerSlot = { due: number; stored: number; missed: number; names: string[]; reasons: string[] };

async function readSlots(pool: pg.Pool, job: string): Promise<Map<number, LedgerSlot>> {
  const { rows } = await pool.query<LedgerSlot & { slot_at: string }>(
    `select slot_at, sum(due)::int as due, sum(stored)::int as stored, sum(missed)::int as missed,
            array(select instrument from misses m
                  where m.job = $1 and m.slot_at = s.slot_at and m.source_id = s.source_id
                  group by instrument order by instrument collate "C") as names,
            array(select string_agg(m.reason || ' of ' || a.name, ' and ') from misses m join accounts a on a.id = m.account_id
                  where m.job = $1 and m.slot_at = s.slot_at and m.source_id = s.source_id
                  group by instrument order by instrument collate "C") as reasons
     from slots s where job = $1 group by slot_at, source_id order by slot_at`,
    [job],
  );
  return new Map(rows.map((row) => [new Date(row.slot_at).getTime(), row]));
}

/** Names are looked at that one job alone is due to poll: of the others the view gives the sum. */
async function compareCoverage(
  pool: pg.Pool,
  jobs: readonly DueJob[],
  job: DueJob,
  stored: ReadonlyMap<string, number>,
): Promise<string[]> {
  const { rows } = await pool.query<{ instrument: string; stored: string; whole: boolean }>(
    `select instrument, sum(stored) as stored, bool_and(expected = stored + missed) as whole
     from coverage_daily group by instrument`,
  );
  const covered = new Map(rows.map((row) => [row.instrument, row]));
  const others = new Set(jobs.filter((other) => other !== job).flatMap(({ names }) => names));
  return job.names.flatMap((name) => {
    if (others.has(name)) return [];
    const row = covered.get(name);
    const said = Number(row?.stored ?? 0);
    if (row?.whole === false) return [`coverage_daily does not add up for ${name}`];
    const counted = stored.get(name) ?? 0;
    return said === counted ? [] : [`coverage_daily says ${said} of ${name}, and it was ${counted}`];
  });
}
