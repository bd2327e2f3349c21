import { expect, test } from "@jest/globals";
import { statusLines } from "../../../src/cli/terminal/statusText.ts";
import { widthOf } from "../../../src/cli/terminal/width.ts";
import type { Line } from "../../../src/status/statusJson.ts";

const LONG = "postgresql.example.internal:5432/quotekeeper, TimescaleDB 2.24.1 Community, 日本 instruments";
const LINES: Line[] = [
  { subject: "database", state: "ok", text: LONG },
  { subject: "slots", state: "attention", text: `${LONG}: run \`quotekeeper migrate\`` },
  { subject: "journal", state: "idle", text: "empty" },
];

test.each([120, 80, 60, 40, 30, 12])(
  "on a terminal of %i columns no line of status is cut or wider",
  (columns) => {
    const lines = statusLines(LINES, { isTTY: true, columns }, { NO_COLOR: "1" });

    for (const line of lines) expect(widthOf(line)).toBeLessThan(columns);
    const text = lines.join("").replace(/\s+/g, "");
    expect(text).toContain(LONG.replace(/\s+/g, ""));
    expect(text).toContain("run`quotekeepermigrate`");
    expect(text).not.toContain("…");
  },
);

test("on a terminal of few rows a good line of status is cut, and a line that needs a person continues", () => {
  const place = { isTTY: true, columns: 80, rows: 3 };

  const lines = statusLines(LINES, place, { NO_COLOR: "1" });

  for (const line of lines) expect(widthOf(line)).toBeLessThan(80);
  expect(lines[0]).toMatch(/^database {2}ok postgresql.*…$/);
  expect(lines.slice(1).join(" ").replace(/\s+/g, " ")).toContain("run `quotekeeper migrate`");
  expect(lines.at(-1)).toBe("journal   -         empty");
});

test("elsewhere than on a terminal no line of status is cut or coloured", () => {
  const lines = statusLines(LINES, { isTTY: false, columns: 80 }, {});

  expect(lines).toHaveLength(3);
  expect(lines[0]).toContain(LONG);
  expect(lines.join()).not.toContain("\u001b");
});

test("a terminal that wants colour gets the marks of status in green and red", () => {
  const [ok, attention] = statusLines(LINES, { isTTY: true, columns: 200 }, {});

  expect(ok).toContain("\u001b[32mok");
  expect(attention).toContain("\u001b[31mATTENTION");
});
