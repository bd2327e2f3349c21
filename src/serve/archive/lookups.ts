/**
 * Looks instruments up for many calls at once. A statement costs about as much for one instrument as for ten, so calls
 * that want the same moment and come together, or while others are being looked up, share one, in which each instrument
 * stands once. Every call gets what it would have got alone.
 */
import type { PointInTime, PointInTimeRow } from "../../archive/pointInTime.ts";
import { instrumentName, type InstrumentKey } from "../../market/instrument.ts";

/** Which quotes of the archive are meant. */
export type Moment = Pick<PointInTime, "realTimeAt" | "delayedAt">;

/** Reads rows as the archive has them; `place` counts from 1 in the order of the keys. */
export type ReadRows = (keys: readonly InstrumentKey[], moment: Moment) => Promise<readonly PointInTimeRow[]>;

/** The rows of one call, in the order of its keys; undefined where there is none. */
export type Rows = readonly (PointInTimeRow | undefined)[];

/** Instruments of a statement that calls share, unless one call alone has more. */
const MOST_SHARED = 1_000;

type Call = {
  keys: readonly InstrumentKey[];
  resolve: (rows: Rows) => void;
  reject: (error: unknown) => void;
};
type Batch = { moment: Moment; keys: Map<string, InstrumentKey>; calls: Call[] };

/** How a shared lookup works. */
type LookupOptions = {
  read: ReadRows;
  /** Statements under way at a time: while a connection is free, nobody waits for others. */
  atOnce: number;
  /** Whether an error may be due to what one call asked for: then the others are looked up without it. */
  isOfOneCall: (error: unknown) => boolean;
};

/** Makes the shared lookup. */
export function sharedLookups({
  read,
  atOnce,
  isOfOneCall,
}: LookupOptions): (keys: readonly InstrumentKey[], moment: Moment) => Promise<Rows> {
  const waiting: Batch[] = [];
  let underWay = 0;

  function batchFor(keys: readonly InstrumentKey[], { realTimeAt, delayedAt }: Moment): Batch {
    const open = waiting.find(
      ({ moment, keys: some }) =>
        moment.realTimeAt === realTimeAt &&
        moment.delayedAt === delayedAt &&
        some.size + keys.length <= MOST_SHARED,
    );
    if (open) return open;
    const batch: Batch = { moment: { realTimeAt, delayedAt }, keys: new Map(), calls: [] };
    waiting.push(batch);
    return batch;
  }

  function startNext(): void {
    if (underWay >= atOnce) return;
    const batch = waiting.shift();
    if (!batch) return;
    underWay += 1;
    void lookUp(batch).finally(() => {
      underWay -= 1;
      startNext();
    });
  }

  async function lookUp({ moment, keys, calls }: Batch): Promise<void> {
    try {
      const names = [...keys.keys()];
      const rows = await read([...keys.values()], moment);
      const byName = new Map(rows.map((row) => [names[row.place - 1], row]));
      for (const call of calls) call.resolve(call.keys.map((key) => byName.get(nameOf(key))));
    } catch (error) {
      if (calls.length > 1 && isOfOneCall(error)) for (const call of calls) await lookUp(alone(call, moment));
      else for (const { reject } of calls) reject(error);
    }
  }

  return (keys, moment) =>
    new Promise((resolve, reject) => {
      const batch = batchFor(keys, moment);
      for (const key of keys) batch.keys.set(nameOf(key), key);
      batch.calls.push({ keys, resolve, reject });
      // Not at once: others of this turn are to come along.
      setImmediate(startNext);
    });
}

function alone(call: Call, moment: Moment): Batch {
  return { moment, keys: new Map(call.keys.map((key) => [nameOf(key), key])), calls: [call] };
}

/** One text per instrument, also of a security that is called like an option. */
export function nameOf(key: InstrumentKey): string {
  return `${key.kind} ${instrumentName(key)}`;
}
