/** One account of a slot from two. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  asShares,
  lackOf,
  type LedgerNote,
  mergeEntries,
  type MissReason,
  sharesIn,
  type SlotEntry,
} from "../../src/journal/ledger.ts";
import { joinRecord, splitRecord } from "../../src/journal/record.ts";
import { answerRecord, at } from "../support/journal.ts";

const NAMES = ["A", "B", "C", "D"];
const REASONS: MissReason[] = ["budget", "down", "overrun", "transport"];

/** An account of some of the names: each is stored, missed for a reason, or was not due. */
const entry = fc
  .array(fc.constantFrom(...REASONS, "stored", "not due"), {
    minLength: NAMES.length,
    maxLength: NAMES.length,
  })
  .map((fates): SlotEntry => {
    const pairs = NAMES.map((name, place): [string, string] => [name, fates[place] ?? "stored"]);
    return {
      ...{ job: "list", slotAt: "2026-11-20T14:30:00.000000Z" },
      due: pairs.flatMap(([name, fate]) => (fate === "not due" ? [] : [name])),
      misses: pairs.filter(([, fate]) => REASONS.includes(fate as MissReason)) as SlotEntry["misses"],
    };
  });

function plain({ due, misses }: SlotEntry): unknown {
  return { due: due.toSorted(), misses: misses.map((miss) => miss.join(" ")).sort() };
}

test("what either account stored is stored, and due is what either was due", () => {
  fc.assert(
    fc.property(entry, entry, (a, b) => {
      const merged = mergeEntries(a, b);
      const stored = (one: SlotEntry): string[] =>
        one.due.filter((name) => !one.misses.some(([missed]) => missed === name));
      expect(new Set(merged.due)).toEqual(new Set([...a.due, ...b.due]));
      expect(new Set(stored(merged))).toEqual(new Set([...stored(a), ...stored(b)]));
      expect(merged.misses.length + stored(merged).length).toBe(merged.due.length);
    }),
  );
});

test("neither the order of accounts nor loading one of them again changes what is told of a slot", () => {
  fc.assert(
    fc.property(entry, entry, entry, (a, b, c) => {
      expect(plain(mergeEntries(a, a))).toEqual(plain(a));
      expect(plain(mergeEntries(a, b))).toEqual(plain(mergeEntries(b, a)));
      expect(plain(mergeEntries(mergeEntries(a, b), c))).toEqual(plain(mergeEntries(a, mergeEntries(b, c))));
      expect(plain(mergeEntries(mergeEntries(a, b), a))).toEqual(plain(mergeEntries(a, b)));
    }),
  );
});

test("an account that says only that nothing ran yields to a more exact reason", () => {
  const missed = (reason: MissReason): SlotEntry => ({
    ...{ job: "list", slotAt: "2026-11-20T14:30:00.000000Z", due: ["A"] },
    misses: [["A", reason]],
  });

  expect(mergeEntries(missed("down"), missed("budget")).misses).toEqual([["A", "budget"]]);
  expect(mergeEntries(missed("down"), missed("down")).misses).toEqual([["A", "down"]]);
});

const record = answerRecord(at(0), "<response/>");
const headOf = (fields: object): string => Buffer.from(splitRecord({ ...record, ...fields }).head).toString();

test("the journal of a single account has the bytes that it had before there were accounts", () => {
  expect(headOf({ account: "default" })).toBe(headOf({}));
  expect(headOf({})).not.toContain("default");
  expect(JSON.stringify(asShares([{ account: "default", due: ["A"] }]))).toBe('{"due":["A"]}');
});

test("one account's answers and notes are kept apart from another's by the account's name", () => {
  const { head, body } = splitRecord({ ...record, account: "second" });
  const opened: LedgerNote = {
    type: "opened",
    run: "r",
    job: "list",
    slotAt: at(0),
    endsAt: null,
    due: [],
  };

  expect(joinRecord(Buffer.from(head), body)).toEqual({ ...record, account: "second" });
  expect(joinRecord(Buffer.from(headOf({ account: 2 })), body)).toBeNull();
  const shares = [{ due: ["A"] }, { account: "second", due: ["B", "C"] }];
  expect(sharesIn({ ...opened, ...asShares(shares) })).toEqual(shares);
  expect(lackOf({ ...opened, ...asShares(shares) })).toBeNull();
  expect(lackOf({ ...opened, others: [{ account: 2, due: [] }] })).not.toBeNull();
});
