/** When collectors ran, by the instants at which they were started and killed, and what that has slots missed for. */
import { systemClock } from "../../../src/ground/clock.ts";
import type { LedgerNote } from "../../../src/journal/ledger.ts";
import { readSegment } from "../../../src/journal/reader.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import type { RecountedSlot } from "./chainRecount.ts";
import type { World } from "./world.ts";

/** Epoch ms UTC. */
export type Span = { fromMs: number; toMs: number };

/** Something that lasted: surely within some spans, and perhaps within others, which hold those. */
export type Lasting = { surely: readonly Span[]; perhaps: readonly Span[] };

/** `endingMs`: when it was killed or asked to end; `goneMs`: when it was gone. */
export type Life = { fromMs: number; endingMs: number; goneMs: number };

const nowMs = (): number => systemClock.now().getTime();

/** The same world, which notes the lives of its collectors, in order. */
export function withLives(world: World): { world: World; lives: readonly Life[] } {
  const lives: Life[] = [];
  const collect: World["collect"] = (databaseUrl) => {
    const life: Life = { fromMs: nowMs(), endingMs: Infinity, goneMs: Infinity };
    lives.push(life);
    const collector = world.collect(databaseUrl);
    const noted =
      <T>(end: () => Promise<T>) =>
      async (): Promise<T> => {
        life.endingMs = Math.min(life.endingMs, nowMs());
        const result = await end();
        life.goneMs = Math.min(life.goneMs, nowMs());
        return result;
      };
    return { ...collector, kill: noted(collector.kill), end: noted(collector.end) };
  };
  return { world: { ...world, collect }, lives };
}

/**
 * When nothing ran. A collector may still be starting within the first slot that was opened behind its start, and one that
 * could not run for a while says so itself.
 */
export async function stoppedIn(journalDir: string, lives: readonly Life[]): Promise<Lasting> {
  const notes = (await notesIn(journalDir)).map(({ note }) => note);
  const openedMs = notes
    .flatMap((note) => (note.type === "opened" ? [Date.parse(note.slotAt)] : []))
    .sort((a, b) => a - b);
  const stood = notes.flatMap((note): Span[] => {
    if (note.type !== "clock") return [];
    const toMs = Date.parse(note.at);
    return [{ fromMs: toMs - Math.abs(note.stepMs), toMs }];
  });
  const before: Life = { fromMs: -Infinity, endingMs: -Infinity, goneMs: -Infinity };
  const pauses = [before, ...lives].map((life, place) => ({ life, next: lives[place]?.fromMs ?? Infinity }));
  return {
    surely: pauses.map(({ life, next }) => ({ fromMs: life.goneMs, toMs: next })),
    perhaps: [
      ...stood,
      ...pauses.map(({ life, next }) => ({
        fromMs: life.endingMs,
        toMs: (openedMs.find((ms) => ms >= next) ?? Infinity) + 1,
      })),
    ],
  };
}

/** When each slot was settled first, by its instant, both epoch ms UTC. */
export async function settledIn(journalDir: string): Promise<ReadonlyMap<number, number>> {
  const settled = new Map<number, number>();
  for (const { note, at } of await notesIn(journalDir)) {
    if (note.type !== "slots") continue;
    for (const { slotAt } of note.entries)
      if (!settled.has(Date.parse(slotAt))) settled.set(Date.parse(slotAt), Date.parse(at));
  }
  return settled;
}

/**
 * Each slot with another reason than the course of things gives it, in words: all of it is missed for want of a login while nobody
 * was logged in, and as `down` while nothing ran; nothing is outside. On a slow machine a slot may overrun at any time, and its last calls may be under way behind its
 * end, until it is settled.
 */
export function wrongReasons(
  slots: readonly RecountedSlot[],
  stepMs: number,
  {
    stopped,
    loggedOut,
    settled,
  }: { stopped: Lasting; loggedOut: Lasting; settled: ReadonlyMap<number, number> },
): string[] {
  return slots.flatMap(({ atMs, due, missed }) => {
    const slot = { fromMs: atMs, toMs: atMs + stepMs };
    const underWay = { fromMs: atMs, toMs: Math.max(slot.toMs, settled.get(atMs) ?? 0) };
    const [mayBeDown, mayLackLogin] = [stopped, loggedOut].map(({ perhaps }) => touches(underWay, perhaps));
    const may = new Set(["overrun", ...(mayBeDown ? ["down"] : []), ...(mayLackLogin ? ["login"] : [])]);
    const said = [...new Set(missed.map(({ reason }) => reason))].sort();
    const at = new Date(atMs).toISOString();
    const others = said.filter((reason) => !may.has(reason));
    if (others.length > 0)
      return [
        `${at} missed ${missed
          .filter(({ reason }) => others.includes(reason))
          .map(({ name, reason }) => `${name} for ${reason}`)
          .join()}`,
      ];
    const must = isWithin(slot, stopped.surely)
      ? "down"
      : isWithin(slot, loggedOut.surely) && !mayBeDown
        ? "login"
        : null;
    if (must === null || (said.join() === must && missed.length === due.length)) return [];
    return [`${at} missed ${missed.length} of ${due.length} for ${said.join()} in place of ${must}`];
  });
}

function touches({ fromMs, toMs }: Span, spans: readonly Span[]): boolean {
  return spans.some((span) => span.fromMs < toMs && span.toMs > fromMs);
}

function isWithin({ fromMs, toMs }: Span, spans: readonly Span[]): boolean {
  return spans.some((span) => span.fromMs <= fromMs && span.toMs >= toMs);
}

async function notesIn(journalDir: string): Promise<{ at: string; note: LedgerNote }[]> {
  const notes: { at: string; note: LedgerNote }[] = [];
  for (const { name } of await listSegments(journalDir))
    for await (const item of readSegment(journalDir, name))
      if (item.kind === "record" && item.record.kind === "note")
        notes.push({ at: item.record.at, note: item.record.note as LedgerNote });
  return notes;
}
