/** What the service said last to calls that need a person: its words stand in the journal, and no table has them. */
import { readAnswerPlace } from "../archive/ask/queries.ts";
import type { Queryable } from "../archive/connect/transaction.ts";
import { readSegment } from "../journal/reader.ts";
import { answerOf } from "../services/registry.ts";

/**
 * The words of the newest answer of each outcome, without a secret. An outcome is left out whose answer is in another machine's journal.
 *
 * @param dir of this machine's journal
 */
export async function readServiceWords(
  pool: Queryable,
  dir: string,
  outcomes: readonly string[],
): Promise<Record<string, string>> {
  const words: Record<string, string> = {};
  for (const outcome of outcomes) {
    const place = await readAnswerPlace(pool, outcome);
    // A journal that cannot be read has a line of its own in `status`.
    const detail = place && (await detailAt(dir, place).catch(() => null));
    if (detail) words[outcome] = detail;
  }
  return words;
}

async function detailAt(
  dir: string,
  { segment, offset }: { segment: string; offset: number },
): Promise<string | null> {
  for await (const item of readSegment(dir, segment, { from: offset, mayBeGone: true })) {
    if (item.kind !== "record" || item.record.kind !== "response") return null;
    const answer = answerOf(item.record);
    return answer.outcome === "quotes" ? null : answer.detail;
  }
  return null;
}
