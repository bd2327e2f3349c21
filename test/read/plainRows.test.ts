/** Plain answers become COPY's lines as `rowsOf` and the columns of the tables have them; more in `npm run test:fuzz`. */
import { describe, expect, test } from "@jest/globals";
import { sampleAnswer } from "../../bench/backfill/sample.ts";
import { seeded } from "../../bench/governor/random.ts";
import { records } from "../../bench/ingest/sample.ts";
import { PlainReader } from "../../src/read/plainRows.ts";
import { answerRecord, at } from "../support/journal.ts";
import { recordedDocuments } from "../support/recorded.ts";
import { expectTheTruth } from "./plainRowsTruth.ts";

describe("what is read plainly is the truth", () => {
  test("of all recorded answers", () => {
    const reader = new PlainReader();
    const plain = recordedDocuments().filter(({ body }) =>
      expectTheTruth(reader, answerRecord(at(0), "", { body })),
    );

    expect(plain.map(({ name }) => name)).toEqual([
      ...["absent-values", "equity", "equity-without-dividend", "exponent-forms", "market-closed"],
      ...["option-call", "option-put", "symbols-that-look-like-values"],
    ]);
  });

  test("of the answers of the benches", () => {
    const reader = new PlainReader();
    const random = seeded(1);
    const backfill = Array.from({ length: 6 }, (_, place) => sampleAnswer(place, random));
    const ingest = records({ symbolCount: 300, perCall: 100, minutes: 2, fromMinute: 0 });

    for (const record of [...backfill, ...ingest]) expect(expectTheTruth(reader, record)).toBe(true);
  });
});
