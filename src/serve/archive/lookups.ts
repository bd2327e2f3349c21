/**
 * Looks instruments up for many calls at once. A statement costs about as much for one instrument as for ten. So calls
 * that come together, or during another lookup, share a statement with each question once. Every call gets the answer that
 * it would have got alone.
 *
 * A row is remembered with its validity: until the moment played reaches the instrument's next quote, and as long as the
 * database's state is unchanged. So a call for known rows only asks whether anything was committed since, which costs a
 * tenth of reading the rows; calls share this question as well.
 */
import type { PointInTimeRow } from "../../archive/ask/pointInTime.ts";
import type { Instant } from "../../ground/clock.ts";
import { instrumentName, type InstrumentKey } from "../../market/instrument.ts";

/** A moment played, and the kind of quotes, see `Asked.delayed`. */
type Moment = { at: Instant; delayed: boolean | null };

export type Lookup = Moment & { key: InstrumentKey };

/** Reads a row for each; `place` counts from 1 in their order. All rows are of one state. */
type ReadRows = (asked: readonly Lookup[]) => Promise<readonly PointInTimeRow[]>;

/** The rows of one call, in the order of its keys; undefined where there is none. */
type Rows = readonly (PointInTimeRow | undefined)[];

/** Most instruments of a shared statement, unless one call alone has more. */
const MOST_SHARED = 1_000;

/** Most rows that are remembered; each takes a few kilobytes. */
const MOST_ROWS = 15_000;

type Call = {
  keys: readonly InstrumentKey[];
  names: readonly string[];
  moment: Moment;
  resolve: (rows: Rows) => void;
  reject: (error: unknown) => void;
};

/** A row, valid from one moment until the next quote, exclusive (null: for ever), in a state of the database. */
type ValidRow = {
  row: PointInTimeRow | undefined;
  from: Instant;
  until: Instant | null;
  state: string | null;
};

type LookupOptions = {
  read: ReadRows;
  readState: () => Promise<string | null>;
  /** Most lookups at a time: while a connection is free, no call waits. */
  atOnce: number;
  /** Whether one call may have caused an error: then the others are looked up without it. */
  isOfOneCall: (error: unknown) => boolean;
};

export function sharedLookups(
  options: LookupOptions,
): (keys: readonly InstrumentKey[], moment: Moment) => Promise<Rows> {
  const { atOnce, isOfOneCall } = options;
  const waiting: { calls: Call[]; size: number }[] = [];
  const answerAll = answeringFromMemory(options);
  const namesOf = rememberedNames();
  let underWay = 0;

  function startNext(): void {
    if (underWay >= atOnce) return;
    const batch = waiting.shift();
    if (!batch) return;
    underWay += 1;
    void lookUp(batch.calls).finally(() => {
      underWay -= 1;
      startNext();
    });
  }

  async function lookUp(calls: readonly Call[]): Promise<void> {
    try {
      await answerAll(calls);
    } catch (error) {
      // Calls that were answered before the error stay answered.
      if (calls.length > 1 && isOfOneCall(error)) for (const call of calls) await lookUp([call]);
      else for (const { reject } of calls) reject(error);
    }
  }

  return (keys, moment) =>
    new Promise((resolve, reject) => {
      const call = { keys, names: namesOf(keys), moment, resolve, reject };
      const open = waiting.at(-1);
      if (open && open.size + keys.length <= MOST_SHARED) {
        open.size += keys.length;
        open.calls.push(call);
        return;
      }
      waiting.push({ calls: [call], size: keys.length });
      // Later, so that other calls of this turn can join.
      setImmediate(startNext);
    });
}

/** Answers calls whose rows are all remembered, and the others from one statement: all rows of a call are of one state. */
function answeringFromMemory({
  read,
  readState,
}: Pick<LookupOptions, "read" | "readState">): (calls: readonly Call[]) => Promise<void> {
  const memory = createRowMemory();
  const remembered = ({ names, moment }: Call): (ValidRow | undefined)[] =>
    names.map((name) => memory.find(name, moment));

  async function readFor(calls: readonly Call[]): Promise<ReadonlyMap<string, ValidRow>> {
    const asked = new Map<string, Lookup & { name: string }>();
    for (const { keys, names, moment } of calls)
      keys.forEach((key, place) => {
        const name = names[place] ?? "";
        asked.set(askingName(name, moment), { ...moment, key, name });
      });
    const askings = [...asked];
    const known = new Map<string, ValidRow>();
    for (const row of await read(askings.map(([, asking]) => asking))) {
      const [id = "", asking] = askings[row.place - 1] ?? [];
      if (asking) known.set(id, memory.remember(asking.name, asking, row));
    }
    return known;
  }

  return async (calls) => {
    const looked = calls.map((call) => ({ call, rows: remembered(call) }));
    const isAnyKnown = looked.some(({ rows }) => rows.every((row) => row !== undefined));
    const state = isAnyKnown ? await readState() : null;
    const open: Call[] = [];
    for (const { call, rows } of looked)
      if (state === null || rows.some((row) => row?.state !== state)) open.push(call);
      else call.resolve(rows.map((row) => row?.row));
    if (open.length === 0) return;
    const known = await readFor(open);
    for (const { names, moment, resolve } of open)
      resolve(names.map((name) => known.get(askingName(name, moment))?.row));
  };
}

type RowMemory = {
  /** The row for the moment, in any state of the database. */
  find: (name: string, moment: Moment) => ValidRow | undefined;
  /** Remembers a row; an unchanged row stays the same object, because quotes made from it are remembered too. */
  remember: (name: string, moment: Moment, row: PointInTimeRow) => ValidRow;
};

function createRowMemory(): RowMemory {
  const rows = new Map<string, ValidRow>();
  return {
    find: (name, { at, delayed }) => {
      const known = rows.get(`${delayed} ${name}`);
      return known && known.from <= at && (known.until === null || at < known.until) ? known : undefined;
    },
    remember: (name, { at, delayed }, row) => {
      const last = rows.get(`${delayed} ${name}`)?.row;
      const found = row.q_found === true ? row : undefined;
      const kept = last && found && isSame(last, found) ? last : found;
      const known = { row: kept, from: at, until: row.next_at, state: row.state };
      if (rows.size >= MOST_ROWS) rows.clear();
      rows.set(`${delayed} ${name}`, known);
      return known;
    },
  };
}

/** Whether two rows differ only in place, validity and state. */
function isSame(one: PointInTimeRow, other: PointInTimeRow): boolean {
  for (const column in other) {
    const name = column as keyof PointInTimeRow;
    if (one[name] !== other[name] && name !== "place" && name !== "next_at" && name !== "state") return false;
  }
  return true;
}

function askingName(name: string, { at, delayed }: Moment): string {
  return `${at} ${delayed} ${name}`;
}

/** The names of a list of instruments; a repeated target has the same list. */
function rememberedNames(): (keys: readonly InstrumentKey[]) => readonly string[] {
  const known = new WeakMap<readonly InstrumentKey[], readonly string[]>();
  return (keys) => {
    // The kind tells a security from an option of its name.
    const names = known.get(keys) ?? keys.map((key) => `${key.kind} ${instrumentName(key)}`);
    known.set(keys, names);
    return names;
  };
}
