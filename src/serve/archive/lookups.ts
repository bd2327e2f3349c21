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

/** Most instruments that are remembered of each kind of quotes; each takes a few kilobytes. */
const MOST_INSTRUMENTS = 5_000;

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

/** Rows that were read for some calls, by `askingName`. */
type Answers = { known: Map<string, ValidRow>; state: string | null };

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

/** Answers calls from remembered rows, and from one statement for all other rows. */
function answeringFromMemory({
  read,
  readState,
}: Pick<LookupOptions, "read" | "readState">): (calls: readonly Call[]) => Promise<void> {
  const memory = createRowMemory();

  async function readFor(
    calls: readonly Call[],
    isWanted: (name: string, moment: Moment) => boolean,
  ): Promise<Answers> {
    const asked = new Map<string, Lookup & { name: string }>();
    for (const { keys, names, moment } of calls)
      keys.forEach((key, place) => {
        const name = names[place] ?? "";
        if (isWanted(name, moment)) asked.set(askingName(name, moment), { ...moment, key, name });
      });
    const askings = [...asked.values()];
    const ids = [...asked.keys()];
    const known = new Map<string, ValidRow>();
    let state: string | null = null;
    for (const row of await read(askings)) {
      const asking = askings[row.place - 1];
      if (!asking) continue;
      state = row.state;
      known.set(ids[row.place - 1] ?? "", memory.remember(asking.name, asking, row));
    }
    return { known, state };
  }

  return async (calls) => {
    const isAnyKnown = calls.some(({ names, moment }) => names.some((name) => memory.find(name, moment)));
    const state = isAnyKnown ? await readState() : null;
    const holds = (name: string, moment: Moment, of: string | null): ValidRow | undefined => {
      const known = of === null ? undefined : memory.find(name, moment);
      return known?.state === of ? known : undefined;
    };
    const unanswered = (some: readonly Call[], answers: Answers): Call[] =>
      some.filter(({ names, moment, resolve }) => {
        const found: (PointInTimeRow | undefined)[] = [];
        for (const name of names) {
          const read = answers.known.size > 0 ? answers.known.get(askingName(name, moment)) : undefined;
          const known = read ?? holds(name, moment, answers.state);
          if (!known) return true;
          found.push(known.row);
        }
        resolve(found);
        return false;
      });

    const open = unanswered(calls, { known: new Map(), state });
    if (open.length === 0) return;
    const read = await readFor(open, (name, moment) => !holds(name, moment, state));
    // A commit came between the two statements, and all rows of a call must be of one state.
    const torn = unanswered(open, read);
    if (torn.length === 0) return;
    const { known } = await readFor(torn, () => true);
    for (const { names, moment, resolve } of torn)
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
  const byKind = new Map<boolean | null, Map<string, ValidRow>>();
  for (const delayed of [true, false, null]) byKind.set(delayed, new Map());
  return {
    find: (name, { at, delayed }) => {
      const known = byKind.get(delayed)?.get(name);
      return known && known.from <= at && (known.until === null || at < known.until) ? known : undefined;
    },
    remember: (name, { at, delayed }, row) => {
      const ofKind = byKind.get(delayed);
      const last = ofKind?.get(name)?.row;
      const found = row.q_found === true ? row : undefined;
      const kept = last && found && isSame(last, found) ? last : found;
      const known = { row: kept, from: at, until: row.next_at, state: row.state };
      if (ofKind && ofKind.size >= MOST_INSTRUMENTS) ofKind.clear();
      ofKind?.set(name, known);
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
