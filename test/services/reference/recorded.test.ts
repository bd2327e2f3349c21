/**
 * The recorded answers: each folder of test/recorded holds an answer and what is to be read from it. Every answer
 * that is read is read a second time, by saxes, and compared leaf by leaf.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { classifyAnswer } from "../../../src/services/reference/classifyAnswer.ts";
import type { InstrumentQuote, ReadItem } from "../../../src/quotes/document.ts";
import { independentReading, leavesOf } from "../../support/secondOpinion.ts";

const RECORDED = new URL("../../recorded/", import.meta.url);

const cases = readdirSync(RECORDED, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe.each(cases)("the recorded answer %s", (name) => {
  const { status, headers } = meta(name);
  const body = readFileSync(new URL(`${name}/response.xml`, RECORDED));
  const answer = classifyAnswer({ status, headers, body });

  test("is read as quotes.json says", () => {
    expect(spoken(answer)).toEqual(JSON.parse(readText(`${name}/quotes.json`)));
  });

  if (answer.outcome === "quotes") {
    test("is read the same by another parser", () => {
      const ours = answer.document.items.map((item) => (item.ok ? leavesOf(item.item) : null));

      const theirs = independentReading(body);

      expect(theirs).toHaveLength(ours.length);
      ours.forEach((leaves, index) => {
        const item = answer.document.items[index];
        const odd = item?.ok ? item.oddFields.map(({ element }) => [element, undefined]) : [];
        if (leaves !== null) expect(leaves).toEqual({ ...theirs[index], ...Object.fromEntries(odd) });
      });
    });
  }
});

test("there are recorded answers", () => {
  expect(cases.length).toBeGreaterThan(25);
});

function meta(name: string): { status: number; headers: Record<string, string> } {
  try {
    return JSON.parse(readText(`${name}/meta.json`)) as { status: number; headers: Record<string, string> };
  } catch {
    return { status: 200, headers: {} };
  }
}

function readText(path: string): string {
  return readFileSync(new URL(path, RECORDED), "utf8");
}

/** What was read, without all that is absent. */
function spoken(answer: ReturnType<typeof classifyAnswer>): unknown {
  if (answer.outcome !== "quotes") return withoutAbsent(answer);
  const { id, items } = answer.document;
  return { outcome: "quotes", id, instruments: items.map(spokenItem) };
}

function spokenItem(read: ReadItem): unknown {
  if (!read.ok) return { symbol: read.symbol, problem: read.problem };
  const item = withoutAbsent(read.item satisfies InstrumentQuote) as object;
  return read.oddFields.length === 0 ? item : { ...item, oddFields: read.oddFields };
}

function withoutAbsent(value: object): unknown {
  return JSON.parse(JSON.stringify(value, (_key, field: unknown) => (field === null ? undefined : field)));
}
