import { expect, test } from "@jest/globals";
import type { Sink } from "../../../src/run/edges.ts";
import { harmlessSink } from "../../../src/cli/terminal/harmless.ts";
import { StatusLine } from "../../../src/cli/terminal/statusLine.ts";
import { createTestClock } from "../../support/clock.ts";

function writing(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  const terminal: Sink = { isTTY, columns, write: (text) => void written.push(text) };
  return { sink: harmlessSink(terminal), written };
}

const ERASE = "\r\u001b[2K";

test("on a terminal the line is written over in place, cut to the terminal's width", () => {
  const { sink, written } = writing(true, 10);
  const line = new StatusLine(sink, createTestClock());

  line.show("1 row");
  line.show("1 row");
  line.show("123456789012");
  line.end();

  expect(written).toEqual([`${ERASE}1 row`, `${ERASE}12345678…`, "\n"]);
});

test("a log line on the same terminal appears above the live line, which stays whole", () => {
  const { sink, written } = writing(true);
  const line = new StatusLine(sink, createTestClock());
  line.show("1 row");

  line.above(sink).write("a warning\n");

  expect(written).toEqual([`${ERASE}1 row`, `${ERASE}a warning\n`, "1 row"]);
});

test("on a pipe a line comes at most every ten seconds, without control characters", () => {
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
