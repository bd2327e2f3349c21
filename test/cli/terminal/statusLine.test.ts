import { expect, test } from "@jest/globals";
import type { Sink } from "../../../src/ground/edges.ts";
import { harmlessEdges } from "../../../src/cli/terminal/harmless.ts";
import { StatusLine } from "../../../src/cli/terminal/statusLine.ts";
import { createTestClock } from "../../support/clock.ts";

function writing(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  const terminal: Sink = { isTTY, columns, write: (text) => void written.push(text) };
  return { sink: harmlessEdges({ stdout: terminal, stderr: terminal }).stdout, written };
}

const ERASE = "\r\u001b[2K";

test("a live line on a terminal is written over in place, and after its end no more", () => {
  const { sink, written } = writing(true, 10);
  const line = new StatusLine(sink, createTestClock());

  line.show("1 row");
  line.show("1 row");
  line.show("2 rows");
  line.end();
  line.show("3 rows");
  line.above(sink).write("a warning\n");
  line.end();

  expect(written).toEqual([`${ERASE}1 row`, `${ERASE}2 rows`, "\n", "a warning\n"]);
});

test.each([
  [80, ["SIMULATED | 26/60 calls this minute | 64 rows stored | next poll in 17 s"]],
  [60, ["SIMULATED | 26/60 calls this minute | 64 rows stored", "next poll in 17 s"]],
  [40, ["SIMULATED | 26/60 calls this minute", "64 rows stored | next poll in 17 s"]],
  [20, ["SIMULATED", "26/60 calls this", "minute", "64 rows stored", "next poll in 17 s"]],
])("at %i columns it is as many lines as it needs, and all of them are written over", (columns, lines) => {
  const { sink, written } = writing(true, columns);
  const line = new StatusLine(sink, createTestClock());

  line.show("SIMULATED | 26/60 calls this minute | 64 rows stored | next poll in 17 s");
  line.show("done");

  const above = lines.length - 1;
  expect(written).toEqual([
    `${ERASE}${lines.join("\n")}`,
    `${above > 0 ? `\r\u001b[${above}A\u001b[J` : ERASE}done`,
  ]);
});

test("in a narrowed window the old live line stays, and the new one stands below", () => {
  const written: string[] = [];
  const terminal = { isTTY: true, columns: 80, write: (text: string) => void written.push(text) };
  const { stdout } = harmlessEdges({ stdout: terminal, stderr: terminal });
  const line = new StatusLine(stdout, createTestClock());

  line.show("26/60 calls this minute | 64 rows stored");
  terminal.columns = 30;
  line.show("27/60 calls this minute | 65 rows stored");

  expect(written.at(-1)).toBe("\n27/60 calls this minute\n65 rows stored");
});

test("a log line on the same terminal appears above the live line, which stays whole", () => {
  const { sink, written } = writing(true);
  const line = new StatusLine(sink, createTestClock());
  line.show("1 row");

  line.above(sink).write("a warning\n");

  expect(written).toEqual([`${ERASE}1 row`, `${ERASE}a warning\n`, "1 row"]);
});

test("a live line on a pipe is printed at most every ten seconds, without control characters", () => {
  const { sink, written } = writing(false);
  const clock = createTestClock();
  const line = new StatusLine(sink, clock);

  line.show("1 row");
  clock.advance(9_999);
  line.show("2 rows");
  clock.advance(1);
  line.show("3 rows");
  line.end();

  expect(written).toEqual(["1 row\n", "3 rows\n"]);
});

test("a log that goes elsewhere than the live line is left as it is", () => {
  const terminal = writing(true);
  const file = writing(false);
  const line = new StatusLine(terminal.sink, createTestClock());
  line.show("1 row");

  line.above(file.sink).write("a warning\n");

  expect(file.written).toEqual(["a warning\n"]);
  expect(terminal.written).toHaveLength(1);
});
