/** Reads the rows of an export's CSV file as text, with every digit. */
import { pipeline } from "node:stream";
import { parse } from "csv-parse";
import type { PieceRow } from "../../read/exportCall.ts";
import { exact } from "../../read/formula.ts";
import type { ExportedTable } from "../../export/manifest.ts";
import { openFile } from "../../plainFiles.ts";

/** Rows that are yielded together. */
const CSV_ROWS = 1_000;

/** An export writes NULL as nothing, and an empty text as `""` (docs/export.md, CSV). */
const CSV_FORM = {
  record_delimiter: "\r\n",
  cast: (value: string, { quoting }: { quoting: boolean }): string | null =>
    value === "" && !quoting ? null : value,
};

/**
 * The rows of a CSV file, in its order.
 *
 * @param raw whether texts are exact; otherwise some have an apostrophe before them (cell.ts)
 * @throws the file system's errors; the reader's for a file that is no CSV
 */
export async function* exportedCsvRows(
  path: string,
  { columns }: Pick<ExportedTable, "columns">,
  raw: boolean,
): AsyncGenerator<PieceRow[], void> {
  const texts = new Set(raw ? [] : columns.flatMap(({ name, type }) => (type === "VARCHAR" ? [name] : [])));
  const input = (await openFile(path, { links: false })).createReadStream();
  // An error of either ends both, and the parser throws it.
  const parser = pipeline(input, parse(CSV_FORM), () => undefined);
  let names: string[] | null = null;
  let rows: PieceRow[] = [];
  for await (const record of parser) {
    const values = record as (string | null)[];
    if (names === null) {
      names = values.map(String);
      continue;
    }
    const entries = names.map((name, place): [string, string | null] => {
      const value = values[place] ?? null;
      return [name, value !== null && texts.has(name) ? exact(value) : value];
    });
    rows.push(Object.fromEntries(entries));
    if (rows.length < CSV_ROWS) continue;
    yield rows;
    rows = [];
  }
  yield rows;
}
