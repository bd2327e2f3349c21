/** A recount of whole chains from the journal's bodies alone: what came of each slot, beside what the tables say of it. */
import type pg from "pg";
import { readSegment } from "../../../src/journal/reader.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import type { QuoteCall } from "../../../src/quotes/call.ts";

/** An answer with status 200, as the journal has it, with its text and when it was asked for, epoch ms UTC. */
export type Kept = {
  request: QuoteCall;
  slotAt: string | null;
  observedAt: string;
  body: string;
  askedMs: number;
};

/** Something due that answers hold, as the ledger names it, and when they were asked for: the first, and the last of them. */
export type Brought = { name: string; fromMs: number; askedMs: number };

export type RecountedSlot = {
  atMs: number;
  due: string[];
  /** Of those, what the tables say was missed, and why. */
  missed: { name: string; reason: string }[];
  /** What no answer holds that was asked for within the slot. */
  lost: string[];
};

/** What answers brought, in their order, read by no reader of the program. */
export type BroughtBy = (answers: readonly Kept[]) => Brought[];

/** Each answer is whole. @param namesOf the service's names in a body */
export function eachWhole(namesOf: (body: string) => string[]): BroughtBy {
  return (answers) =>
    answers.flatMap(({ body, askedMs }) => namesOf(body).map((name) => ({ name, fromMs: askedMs, askedMs })));
}

/** @param stepMs from a slot to the next */
export async function recountChains(
  { pool, journalDir }: { pool: pg.Pool; journalDir: string },
  stepMs: number,
  broughtBy: BroughtBy,
): Promise<RecountedSlot[]> {
  const all = broughtBy(await keptIn(journalDir));
  const { rows } = await pool.query<{
    at: string;
    due: string[];
    misses: { name: string; reason: string }[];
  }>(
    `select to_json(slot_at)#>>'{}' as at, d.instruments as due,
            coalesce((select json_agg(json_build_object('name', instrument, 'reason', reason)) from misses m
                      where m.job = s.job and m.slot_at = s.slot_at), '[]') as misses
     from slots s join due_sets d on d.id = s.due_set_id order by slot_at`,
  );
  return rows.map(({ at, due, misses }) => {
    const atMs = Date.parse(at);
    const brought = new Set(
      all.filter(({ fromMs, askedMs }) => fromMs >= atMs && askedMs < atMs + stepMs).map(({ name }) => name),
    );
    // One row stands for all that was due.
    const missed = misses.flatMap(({ name, reason }) =>
      name === "*" ? due.map((one) => ({ name: one, reason })) : [{ name, reason }],
    );
    return { atMs, due, missed, lost: due.filter((name) => !brought.has(name)) };
  });
}

/** Each slot whose word is not that of the recount, in words. */
export function wrongSlots(slots: readonly RecountedSlot[]): string[] {
  return slots.flatMap(({ atMs, missed, lost }) => {
    const said = missed.map(({ name }) => name).toSorted();
    return said.join() === lost.toSorted().join()
      ? []
      : [`${new Date(atMs).toISOString()} missed ${said.join()}, and nothing came of ${lost.join()}`];
  });
}

/** The answers with status 200, in the journal's order. */
export async function keptIn(journalDir: string): Promise<Kept[]> {
  const kept: Kept[] = [];
  for (const { name: segment } of await listSegments(journalDir))
    for await (const item of readSegment(journalDir, segment)) {
      if (item.kind !== "record" || item.record.kind !== "response" || item.record.status !== 200) continue;
      const { body, request, requestedAt, ...rest } = item.record;
      const askedMs = Date.parse(requestedAt);
      kept.push({ ...rest, request: request as QuoteCall, body: Buffer.from(body).toString(), askedMs });
    }
  return kept;
}
