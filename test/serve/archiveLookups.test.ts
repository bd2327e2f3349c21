import { expect, test } from "@jest/globals";
import type { PointInTimeRow } from "../../src/archive/ask/pointInTime.ts";
import { instrumentName, type InstrumentKey, option, security } from "../../src/market/instrument.ts";
import { sharedLookups } from "../../src/serve/archive/lookups.ts";

type ReadRows = Parameters<typeof sharedLookups>[0]["read"];
type LookUp = ReturnType<typeof sharedLookups>;
type Rows = Awaited<ReturnType<LookUp>>;

const at = (second: number, delayed: boolean | null = false): Parameters<LookUp>[1] => ({
  at: `2026-03-11T15:00:0${second}.000000Z`,
  delayed,
});
const CONTRACT = { underlying: "A", expiration: "2026-12-18", optionType: "CALL", strike: "150" } as const;

/** A table that knows all but `X`, in which each second has another quote; what was asked of it, in order. */
function lookups(refuses: (keys: readonly InstrumentKey[]) => boolean = () => false) {
  const reads: string[][] = [];
  const database = { state: "1:1:", last: "1.5", commitAfterState: false };
  const read: ReadRows = (asked) => {
    reads.push(asked.map(({ key }) => instrumentName(key)));
    if (refuses(asked.map(({ key }) => key))) return Promise.reject(new Error("refused"));
    const rows = asked.map(({ key, at: from }, index) => {
      const symbol = instrumentName(key);
      const isKnown = symbol !== "X";
      return {
        place: index + 1,
        q_found: isKnown || null,
        next_at: `${from.slice(0, 19)}.999999Z`,
        state: database.state,
        ...(isKnown && { symbol, q_last: database.last, option_type: null }),
      } as PointInTimeRow;
    });
    // The order of rows says nothing.
    return Promise.resolve(rows.reverse());
  };
  const readState = (): Promise<string> => {
    const { state } = database;
    if (database.commitAfterState) commit("9.9");
    return Promise.resolve(state);
  };
  const commit = (last: string): void =>
    void Object.assign(database, { state: `${database.state}1`, last, commitAfterState: false });
  const lookUp = sharedLookups({ read, readState, atOnce: 2, isOfOneCall: () => true });
  return { reads, lookUp, commit, database };
}

const symbolsOf = (rows: Rows) => rows.map((row) => row?.symbol ?? null);

test("calls that come together share a statement with each instrument once, and each gets its instruments in its order", async () => {
  const { reads, lookUp } = lookups();

  const found = await Promise.all([
    lookUp([security("A"), security("B")], at(0)),
    lookUp([security("X"), security("B"), security("C")], at(0)),
  ]);

  expect(reads).toEqual([["A", "B", "X", "C"]]);
  expect(found.map(symbolsOf)).toEqual([
    ["A", "B"],
    [null, "B", "C"],
  ]);
});

test("calls that come together ask for an instrument once for each moment and kind of quotes", async () => {
  const { reads, lookUp } = lookups();

  await Promise.all([at(0), at(1), at(1), at(1, true)].map((moment) => lookUp([security("A")], moment)));

  expect(reads).toEqual([["A", "A", "A"]]);
});

test("calls that come together do not mistake an option for a security of its name", async () => {
  const { reads, lookUp } = lookups();
  const contract = option(CONTRACT);

  await Promise.all([lookUp([contract], at(0)), lookUp([security(instrumentName(contract))], at(0))]);

  expect(reads[0]).toHaveLength(2);
});

test("calls that come together do not fail with one call that the database refuses", async () => {
  const { lookUp } = lookups((keys) => keys.some((key) => instrumentName(key) === "BAD"));

  const [good, bad] = await Promise.allSettled([
    lookUp([security("A")], at(0)),
    lookUp([security("BAD")], at(0)),
  ]);

  expect(good).toMatchObject({ status: "fulfilled" });
  expect(bad).toMatchObject({ status: "rejected" });
});

test("calls that come together make no statement without bounds", async () => {
  const { reads, lookUp } = lookups();
  const listOf = (call: number) => Array.from({ length: 300 }, (_, place) => security(`S${call}-${place}`));

  await Promise.all([0, 1, 2, 3].map((call) => lookUp(listOf(call), at(0))));

  expect(reads.map(({ length }) => length)).toEqual([900, 300]);
});

const lastsOf = (rows: Rows) => rows.map((row) => row?.q_last ?? null);

test("a remembered quote is not read again until the instrument's next quote, and an unknown instrument is remembered too", async () => {
  const { reads, lookUp } = lookups();
  const keys = [security("A"), security("X")];
  const [first] = await lookUp(keys, at(0));

  const [again] = await lookUp(keys, { ...at(0), at: "2026-03-11T15:00:00.999998Z" });
  await lookUp(keys, { ...at(0), at: "2026-03-11T15:00:00.999999Z" });

  expect(again).toBe(first);
  expect(reads).toEqual([
    ["A", "X"],
    ["A", "X"],
  ]);
});

test("a remembered quote is read again for an earlier moment, for another kind of quotes, and after a commit", async () => {
  const { reads, lookUp, commit } = lookups();
  const asked = [at(1), at(0), at(0, null), at(0)];
  for (const moment of asked) await lookUp([security("A")], moment);

  commit("2.5");
  const rows = await lookUp([security("A")], at(0));

  expect(reads).toHaveLength(4);
  expect(lastsOf(rows)).toEqual(["2.5"]);
});

test("a remembered row stays the same object when it is read again unchanged", async () => {
  const { lookUp, commit } = lookups();
  const [first] = await lookUp([security("A")], at(0));

  commit("1.5");
  const [again] = await lookUp([security("B"), security("A")], at(0)).then((rows) => rows.toReversed());

  expect(again).toBe(first);
});

test("a remembered quote is not mixed with rows that were committed during the lookup", async () => {
  const { reads, lookUp, database } = lookups();
  await lookUp([security("A")], at(0));

  database.commitAfterState = true;
  const [known, rows] = await Promise.all([
    lookUp([security("A")], at(0)),
    lookUp([security("A"), security("B")], at(0)),
  ]);

  expect(lastsOf(known)).toEqual(["1.5"]);
  expect(lastsOf(rows)).toEqual(["9.9", "9.9"]);
  expect(reads).toEqual([["A"], ["A", "B"]]);
});

test("quotes are always read again where the database cannot tell its state", async () => {
  const { reads, lookUp, database } = lookups();
  Object.assign(database, { state: null });

  await lookUp([security("A")], at(0));
  await lookUp([security("A")], at(0));

  expect(reads).toEqual([["A"], ["A"]]);
});
