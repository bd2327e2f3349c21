/** A recount of whole chains from the journal's bodies alone: what came of each slot, beside what the tables say of it. */
import type pg from "pg";
import { readSegment } from "../../../src/journal/reader.ts";
import { listSegments } from "../../../src/journal/segments.ts";

/** Something due that an answer holds, as the ledger names it, and when it was asked for, epoch ms UTC. */
type Brought = { name: string; askedMs: number };

export type RecountedSlot = {
  atMs: number;
  due: string[];
  /** Of those, what the tables say was missed, and why. */
  missed: { name: string; reason: string }[];
  /** What no answer holds that was asked for within the slot. */
  lost: string[];
};

/** The service's names in a body with status 200, read by no reader of the program. */
type NamesOf = (body: string) => string[];

/** @param stepMs from a slot to the next */
export async function recountChains(
  { pool, journalDir }: { pool: pg.Pool; journalDir: string },
  stepMs: number,
  namesOf: NamesOf,
): Promise<RecountedSlot[]> {
  const answers = await answersIn(journalDir, namesOf);
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
      answers.filter(({ askedMs }) => askedMs >= atMs && askedMs < atMs + stepMs).map(({ name }) => name),
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

async function answersIn(journalDir: string, namesOf: NamesOf): Promise<Brought[]> {
  const answers: Brought[] = [];
  for (const { name: segment } of await listSegments(journalDir))
    for await (const item of readSegment(journalDir, segment)) {
      if (item.kind !== "record" || item.record.kind !== "response" || item.record.status !== 200) continue;
      const { body, requestedAt } = item.record;
      const askedMs = Date.parse(requestedAt);
      answers.push(...namesOf(Buffer.from(body).toString()).map((name) => ({ name, askedMs })));
    }
  return answers;
}
