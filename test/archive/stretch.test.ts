/** Stretches are the same whichever way their answers are read, and whichever thread reads them. */
import { appendFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import { describe, expect, test } from "@jest/globals";
import { sampleAnswer } from "../../bench/backfill/sample.ts";
import { seeded } from "../../bench/governor/random.ts";
import { EXTENDED_QUOTES, QUOTES, type QuoteTable } from "../../src/archive/schema/quoteColumns.ts";
import { readStretches, sendStretches, type StretchRequest } from "../../src/archive/load/readStretches.ts";
import { Gathering, type Stretch } from "../../src/archive/load/stretch.ts";
import { EVER } from "../../src/journal/record.ts";
import { listSegments } from "../../src/journal/segments.ts";
import { dividendOf, rowsOf } from "../../src/read/answerToRows.ts";
import { copyText } from "../../src/read/copyLines.ts";
import { PlainReader } from "../../src/read/plainRows.ts";
import { madeAnswer } from "../fuzz/plainAnswers.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { recordedDocuments } from "../support/recorded.ts";
import { tempDir } from "../support/tempDir.ts";

const random = seeded(18);

/** Answers of all kinds, in the order of time. */
const answers = [
  ...recordedDocuments().map(({ body }) => ({ body: Buffer.from(body) })),
  ...Array.from({ length: 200 }, (_, place) => madeAnswer(place)),
  ...Array.from({ length: 4 }, (_, place) => ({ body: Buffer.from(sampleAnswer(place, random).body) })),
].map((fields, place) => ({ ...answerRecord(at(place), ""), ...fields }));

const position = { segment: "s", offset: 0 };

function gathered(reader: PlainReader | null): Stretch {
  const gathering = new Gathering({ segment: "s", from: 0 }, reader);
  for (const record of answers) gathering.add(record, position);
  return gathering.finish();
}

/** The lines of a table with the names of their series, sorted. */
function linesOf(
  { series, instruments, sources, ...stretch }: Stretch,
  part: "quotes" | "extended",
): string[] {
  const { bytes, starts } = stretch[part];
  let row = 0;
  return series
    .flatMap(({ instrument, source, rows }) =>
      Array.from({ length: rows }, () => {
        const line = Buffer.from(bytes.subarray(starts[row], starts[(row += 1)])).toString();
        const { securityType, symbol, expiration, optionType, strike } = instruments[instrument]?.row ?? {};
        const name = [securityType, symbol, expiration, optionType, strike, sources[source]?.name].join(" ");
        return `${name}\t${line.split("\t").slice(2).join("\t")}`;
      }),
    )
    .sort();
}

test("a stretch is the same to the byte whether plain answers are read as bytes or as objects", () => {
  const plain = gathered(new PlainReader());

  expect(plain).toEqual(gathered(null));
  expect(plain.report.units).toBeGreaterThan(1_500);
});

test("a stretch has the lines, the dividends and the counts that its rows have", () => {
  const stretch = gathered(new PlainReader());
  const all = answers.map((record) => rowsOf(record, position));
  const units = all.flatMap((answer) => answer.units.map((unit) => ({ unit, source: answer.record.source })));
  const expected = ({ columns }: QuoteTable): string[] =>
    units
      .map(({ unit, source }) => {
        const { securityType, symbol, expiration, optionType, strike } = unit.instrument;
        const texts = columns
          .filter(({ name }) => name !== "instrument_id" && name !== "source_id")
          .map(({ text }) => copyText(text({ unit, instrumentId: 0, sourceId: 0 })));
        const name = [securityType, symbol, expiration, optionType, strike, source.name].join(" ");
        return `${name}\t${texts.join("\t")}\n`;
      })
      .sort();

  expect(linesOf(stretch, "quotes")).toEqual(expected(QUOTES));
  expect(linesOf(stretch, "extended")).toEqual(expected(EXTENDED_QUOTES));
  expect(stretch.report.units).toBe(units.length);
  expect(stretch.responses).toHaveLength(answers.length);
  expect(stretch.letters).toHaveLength(all.flatMap(({ deadLetters }) => deadLetters).length);
  for (const { instrument, words } of stretch.series) {
    const { symbol, expiration, strike, optionType, securityType } =
      stretch.instruments[instrument]?.row ?? {};
    const said = units
      .filter(
        ({ unit: { instrument: one } }) =>
          [one.symbol === symbol, one.expiration === expiration, one.strike === strike].every(Boolean) &&
          one.optionType === optionType &&
          one.securityType === securityType,
      )
      .map(({ unit }) => ({ observedAt: unit.observedAt, dividend: dividendOf(unit.quote) }))
      .filter(({ dividend }) => dividend !== null);
    const changes = said.filter(
      ({ dividend }, place) =>
        place === 0 || JSON.stringify(dividend) !== JSON.stringify(said[place - 1]?.dividend),
    );

    expect(words).toEqual(changes);
  }
});

describe("another thread", () => {
  const said = async (request: StretchRequest): Promise<unknown[]> => {
    const { port1, port2 } = new MessageChannel();
    const heard: unknown[] = [];
    port1.on("message", (one: { stretch?: Stretch }) => {
      heard.push(one);
      if ("stretch" in one) port1.postMessage("more");
    });
    const closed = once(port1, "close");
    await sendStretches(request, port2);
    await closed;
    return heard;
  };

  const journal = async (): Promise<StretchRequest> => {
    const journalDir = tempDir();
    for (const part of [answers.slice(0, 40), answers.slice(40, 80), answers.slice(80)])
      await appendAll(journalDir, part);
    const segments = await listSegments(journalDir);
    // Bytes that are no record, at the end of what can be read.
    appendFileSync(join(journalDir, segments[0]?.path.split("/").at(-1) ?? ""), "no record");
    const parts = segments.map(({ name }) => ({ name, from: 0 }));
    return { journalDir, parts, range: EVER, mayBeGone: false, alone: "exports" };
  };

  test("another thread sends what this one would read, stretch by stretch", async () => {
    const request = await journal();
    const expected: unknown[] = [];
    for await (const one of readStretches(request)) expected.push(one);

    const heard = await said(request);

    expect(expected.length).toBeGreaterThanOrEqual(2);
    expect(heard).toEqual([...expected, { ended: true }]);
  });

  test("another thread says why it cannot read a segment, after what it could read", async () => {
    const request = await journal();
    const gone = { name: "2026-01-01T00-0000000000000000", from: 0 };

    const heard = await said({ ...request, parts: [...request.parts.slice(0, 1), gone] });

    expect(heard.at(-1)).toMatchObject({ failed: { code: "JOURNAL_UNREADABLE" } });
    expect(heard.length).toBeGreaterThan(1);
  });
});
