/** Shows the answer to a statement as a table, JSON or CSV, some rows at a time. */
import { z } from "zod";
import type { SqlAnswer } from "../files/sql/askSql.ts";
import { textOf } from "../files/sql/values.ts";
import { harmless } from "../read/formula.ts";
import type { Edges } from "../ground/edges.ts";
import { count } from "../ground/jsonWords.ts";
import { csvCell } from "./terminal/csvCell.ts";
import { oneLine, say } from "./terminal/harmless.ts";
import { table } from "./terminal/table.ts";
import { counted } from "../ground/figures.ts";

export const sqlJson = z.strictObject({
  columns: z.array(
    z.strictObject({
      name: z.string(),
      type: z.string(),
    }),
  ),
  rows: z.array(z.record(z.string(), z.json())),
  count: count,
});

/** Most rows of a table. All of them are in memory, because a column is as wide as its widest value. */
const MOST_IN_TABLE = 10_000;

export type SqlFormat = "table" | "json" | "csv" | "raw csv";

export async function showAnswer(answer: SqlAnswer, format: SqlFormat, edges: Edges): Promise<void> {
  const { columns, next } = answer;
  if (format === "table") return showTable(answer, edges);
  const write = async (text: string): Promise<void> => {
    edges.stdout.write(text);
    // The reader may be slower than the statement.
    await edges.stdout.drained?.();
  };
  if (format === "json") return writeJson(answer, write);
  const line = (texts: readonly (string | null)[]): string => `${texts.map(csvCell).join(",")}\n`;
  await write(line(columns.map(({ name }) => (format === "csv" ? oneLine(harmless(name)) : name))));
  for (let rows = await next(); rows !== null; rows = await next())
    await write(
      rows
        .map((row) =>
          line(
            row.map((value, place) => {
              if (value === null) return null;
              const text = textOf(value);
              return format === "csv" && columns[place]?.isText ? oneLine(harmless(text)) : text;
            }),
          ),
        )
        .join(""),
    );
}

/** One document, written while the rows arrive. */
async function writeJson(
  { columns, next }: SqlAnswer,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const described = columns.map(({ name, type }) => ({ name, type }));
  await write(`{\n  "columns": ${JSON.stringify(described)},\n  "rows": [`);
  let rows = 0;
  for (let piece = await next(); piece !== null; piece = await next()) {
    const texts = piece.map((row) =>
      JSON.stringify(Object.fromEntries(row.map((value, place) => [columns[place]?.name, value]))),
    );
    await write(`${rows === 0 ? "" : ","}\n    ${texts.join(",\n    ")}`);
    rows += texts.length;
  }
  await write(`${rows === 0 ? "" : "\n  "}],\n  "count": ${rows}\n}\n`);
}

async function showTable({ columns, next }: SqlAnswer, { stdout, stderr, env }: Edges): Promise<void> {
  const shown: (string | null)[][] = [];
  let isWhole = true;
  for (let piece = await next(); piece !== null; piece = await next()) {
    const room = MOST_IN_TABLE - shown.length;
    shown.push(
      ...piece.slice(0, room).map((row) => row.map((value) => (value === null ? null : textOf(value)))),
    );
    isWhole = piece.length <= room;
    if (!isWhole) break;
  }
  const headed = columns.map(({ name, isNumber }) =>
    isNumber ? { heading: oneLine(name), right: true } : { heading: oneLine(name), wrap: ",_" },
  );
  if (columns[0]?.name === "explain_key") stdout.write(shown.map((row) => `${row.join("\n")}\n`).join(""));
  else stdout.write(table(headed, shown, { stdout, env }));
  if (!isWhole)
    say(stderr, `the first ${counted(shown.length, "row")}; --csv, --json and --parquet write all of them`);
  else if (stdout.isTTY) say(stderr, counted(shown.length, "row"));
}
