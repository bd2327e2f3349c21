/** Plain answers become COPY's lines as `rowsOf` and the columns of the tables have them. */
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { sampleAnswer } from "../../bench/backfill/sample.ts";
import { seeded } from "../../bench/governor/random.ts";
import { records } from "../../bench/ingest/sample.ts";
import { EXTENDED_QUOTES, QUOTES, type QuoteTable } from "../../src/archive/schema/quoteColumns.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { dividendOf, rowsOf } from "../../src/read/answerToRows.ts";
import { CopyLines, copyText } from "../../src/read/copyLines.ts";
import { PlainReader } from "../../src/read/plainRows.ts";
import type { QuoteUnit } from "../../src/read/rowTypes.ts";
import { upTo } from "../fuzz/cutAnswers.ts";
import { mutantOf, mutation } from "../fuzz/mutants.ts";
import { madeAnswer } from "../fuzz/plainAnswers.ts";
import { expectSame } from "../support/expectSame.ts";
import { answerRecord, at, symbolsCall } from "../support/journal.ts";
import { recordedDocuments } from "../support/recorded.ts";
import { runs } from "../support/runs.ts";

/** The columns that the hole is for, as they are in it. */
const HOLE = "0000000000\t00000";

/** A line as it is made of a unit whose numbers nobody knows. */
function lineOf({ columns }: QuoteTable, unit: QuoteUnit): string {
  const placed = { unit, instrumentId: 0, sourceId: 0 };
  const rest = columns.filter(({ name }) => name !== "instrument_id" && name !== "source_id");
  return `${[HOLE, ...rest.map(({ text }) => copyText(text(placed)))].join("\t")}\n`;
}

/** The line that begins there, with its line feed. */
function lineAt({ bytes, end }: CopyLines, start: number): string {
  return bytes.toString("utf8", start, bytes.subarray(0, end).indexOf("\n", start) + 1);
}

/**
 * Reads an answer both ways: where it is read plainly, every row, line and dividend is that of `rowsOf`, and nothing
 * else was said; where it is not, nothing was added.
 *
 * @returns whether it was read plainly
 */
function expectTheTruth(reader: PlainReader, record: ResponseRecord): boolean {
  const lines = { quotes: new CopyLines(), extended: new CopyLines() };
  for (const one of Object.values(lines)) one.add("before\n");

  const answer = reader.read(record, lines.quotes, lines.extended);

  if (answer === null) {
    for (const { bytes, end } of Object.values(lines)) expectSame(bytes.toString("utf8", 0, end), "before\n");
    return false;
  }
  const truth = rowsOf(record, { segment: "", offset: 0 });
  const { responseId, deadLetters, cut } = answer;
  expectSame(
    { id: responseId, deadLetters, cut },
    {
      id: truth.answer.outcome === "quotes" ? truth.answer.document.id : "no quotes",
      ...{ deadLetters: truth.deadLetters, cut: truth.cut },
    },
  );
  expectSame(
    truth.matched.filter((match) => match.fate !== "stored" || match.oddFields.length > 0),
    [],
  );
  expectSame(
    answer.rows.map(({ instrument, observedAt, dividend, quote, extended }) => ({
      ...{ instrument, observedAt, dividend },
      quote: lineAt(lines.quotes, quote),
      extended: lineAt(lines.extended, extended),
    })),
    truth.units.map((unit) => ({
      ...{ instrument: unit.instrument, observedAt: unit.observedAt, dividend: dividendOf(unit.quote) },
      quote: lineOf(QUOTES, unit),
      extended: lineOf(EXTENDED_QUOTES, unit),
    })),
  );
  const lengths = Object.values(lines).map(
    ({ bytes, end }) => bytes.toString("utf8", 0, end).split("\n").length - 2,
  );
  expectSame(lengths, [truth.units.length, truth.units.length]);
  return true;
}

const recorded = recordedDocuments();

const record = (body: Buffer | string, fields = {}) =>
  answerRecord(at(0), "", { body: Buffer.from(body), ...fields });

/** An option, its underlying with it and asked for itself. */
const small = (() => {
  const random = seeded(3);
  const [equities, options] = [0, 1].map((place) => String(Buffer.from(sampleAnswer(place, random).body)));
  const itemOf = (text = "", symbol = "") =>
    new RegExp(`<instrumentquote>(?:(?!</ins).)*<sym>${symbol}</sym>.*?</instrumentquote>`).exec(text)?.[0];
  const [equity, option] = [itemOf(equities, "SAAB"), itemOf(options, "SAAA")];
  return `<response id="s"><quotes>${equity}${option}</quotes></response>`;
})();

describe("what is read plainly is the truth", () => {
  const reader = new PlainReader();

  beforeAll(() => {
    for (const { body } of recorded) expectTheTruth(reader, record(body));
    expect(expectTheTruth(reader, record(small))).toBe(true);
  });

  test("recorded answers that are written in the order of the specification are read plainly, and as rowsOf reads them", () => {
    const plain = recorded.filter(({ body }) => expectTheTruth(reader, record(body)));

    expect(plain.map(({ name }) => name)).toEqual([
      ...["absent-values", "equity", "equity-without-dividend", "exponent-forms", "market-closed"],
      ...["option-call", "option-put", "symbols-that-look-like-values"],
    ]);
  });

  test("all answers of the benches are read plainly, and as rowsOf reads them", () => {
    const random = seeded(1);
    const backfill = Array.from({ length: 6 }, (_, place) => sampleAnswer(place, random));
    const ingest = records({ symbolCount: 300, perCall: 100, minutes: 2, fromMinute: 0 });

    for (const one of [...backfill, ...ingest]) expect(expectTheTruth(reader, one)).toBe(true);
  });

  test("an answer that is cut anywhere, or has a byte changed, dropped or doubled, is read as rowsOf reads it", () => {
    const whole = Buffer.from(small);
    let plain = 0;
    const compare = (...parts: Uint8Array[]): void => {
      if (expectTheTruth(reader, record(Buffer.concat(parts)))) plain += 1;
    };

    for (const place of upTo(whole.length)) {
      const [before, byte, after] = [
        whole.subarray(0, place),
        whole.subarray(place, place + 1),
        whole.subarray(place + 1),
      ];
      compare(before);
      compare(before, after);
      compare(before, byte, byte, after);
      for (const other of "<7.") compare(before, Buffer.from(other), after);
    }

    expect(plain).toBeGreaterThan(1_000);
  });

  test("mutants of recorded answers are read as rowsOf reads them", () => {
    let plain = 0;

    fc.assert(
      fc.property(mutation, (made) => {
        if (expectTheTruth(reader, record(mutantOf(made).mutant))) plain += 1;
      }),
      // Some 48 of them are read plainly: chance does not bring as few as 15.
      { numRuns: runs(2_300) },
    );

    expect(plain).toBeGreaterThan(runs(15));
  });

  test("made answers to calls of every form are read as rowsOf reads them", () => {
    let plain = 0;

    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const { body, request } = madeAnswer(seed);
        if (expectTheTruth(reader, record(body, { request }))) plain += 1;
      }),
      { numRuns: runs(1_000) },
    );

    expect(plain).toBeGreaterThan(runs(150));
  });
});

const isPlain = (body: Buffer | string, fields = {}) =>
  expectTheTruth(new PlainReader(), record(body, fields));

test("answers without quotes, and answers to other calls, are not read plainly", () => {
  expect(isPlain(small)).toBe(true);
  for (const fields of [
    { status: 201 },
    { headers: { "content-encoding": "gzip" } },
    { request: symbolsCall("SAAB") },
    { request: symbolsCall("SAAB", "SAAA", "SAAC") },
    { request: { form: "export" } },
    { request: null },
    { observedAt: "a\tb" },
  ])
    expect(isPlain(small, fields)).toBe(false);
  expect(isPlain(`${small}${" ".repeat(8 * 1024 * 1024)}`)).toBe(false);
});

test("an empty element in the quote of an underlying that came without one before makes a row of it", () => {
  const option = small.slice(small.lastIndexOf("<instrumentquote>"));
  const withQuote = (quote: string): string =>
    `<response id="s"><quotes>${option.replace(/<undlyquote>.*<\/undlyquote>/, quote)}`;
  const reader = new PlainReader();

  expect(expectTheTruth(reader, record(withQuote("")))).toBe(true);
  expect(expectTheTruth(reader, record(withQuote("<undlyquote><askprice/></undlyquote>")))).toBe(false);
});

test("equal instruments and equal dividends are the same object each time", () => {
  const reader = new PlainReader();
  const read = (body: string) =>
    reader
      .read(record(body), new CopyLines(), new CopyLines())
      ?.rows.map(({ instrument, dividend }) => ({ instrument, dividend })) ?? [];

  const first = read(small);
  const again = read(small.replaceAll(/(?<=<(?:ask|bid)price>)[\d.]+/g, ""));

  expect(first).toHaveLength(3);
  expect(first.filter(({ dividend }) => dividend !== null)).not.toEqual([]);
  first.forEach((row, place) => {
    expect(again[place]?.instrument).toBe(row.instrument);
    expect(again[place]?.dividend).toBe(row.dividend);
  });
});
