/** The vendor's files as the relation `input` of a map: what is in them as text, whatever they are. */
import { basename, resolve } from "node:path";
import { parse } from "csv-parse/sync";
import { z } from "zod";
import { quoted } from "../archive/export/duckFiles.ts";
import { QuotekeeperError } from "../errors.ts";
import { type Duck, rowsOf } from "../lake/sql/duckdb.ts";
import { openFile } from "../plainFiles.ts";

const CHARACTER = "expected one character";
const character = z.string(CHARACTER).regex(/^[^\p{L}\p{N}\r\n]$/u, CHARACTER);
const mark = z.union([z.literal(""), character], CHARACTER);
const TEXTS = "expected a text, or a list of texts";

/** What a map may say of its CSV files, under the names of DuckDB's read_csv. */
const readingSchema = z.strictObject({
  delim: character.default(",").describe("What separates columns."),
  quote: mark.default('"').describe("What stands around a text that has separators or line ends."),
  escape: mark.default('"').describe("What stands before a quote within quotes."),
  comment: character.optional().describe("What a line begins with that is skipped."),
  skip: z.number().int().min(0).max(1_000).default(0).describe("Lines before the header."),
  header: z.boolean().default(true).describe("false: columns are column0, column1 ..."),
  encoding: z
    .enum(["utf-8", "utf-16", "latin-1"])
    .optional()
    .describe("UTF-16 with a byte order mark needs none."),
  nullstr: z
    .union([z.string(), z.array(z.string())], TEXTS)
    .default([])
    .transform((texts) => ["", ...[texts].flat()])
    .describe("Texts that stand for no value, besides the empty one."),
});

export type Reading = z.infer<typeof readingSchema>;

/** A map begins with comments; one of them may say how its files are read. */
const INPUT_LINE = /^\s*--\s*input:(.*)$/iu;
const ENTRY =
  /\s*(\w+)\s*=\s*('(?:[^']|'')*'|\[\s*(?:'(?:[^']|'')*'\s*,?\s*)*\]|\d{1,9}|true|false)\s*(?:,|$)/uy;

/** How a map's comment `-- input: delim = ';', skip = 2` says that its files are read. @throws QuotekeeperError BACKFILL_MAP_INVALID */
export function readingOf(sql: string, mapFile: string): Reading {
  const lines = sql.split("\n");
  const code = lines.findIndex((line) => !/^\s*(?:--|$)/u.test(line));
  const place = lines.slice(0, code < 0 ? lines.length : code).findIndex((line) => INPUT_LINE.test(line));
  const text = INPUT_LINE.exec(lines[place] ?? "")?.[1]?.trim() ?? "";
  const invalid = (what: string): QuotekeeperError =>
    new QuotekeeperError("BACKFILL_MAP_INVALID", `${mapFile} line ${place + 1}: ${what}`);
  const given: Record<string, unknown> = {};
  ENTRY.lastIndex = 0;
  for (let at = 0; at < text.length; at = ENTRY.lastIndex) {
    const [, name = "", value = ""] = ENTRY.exec(text) ?? [];
    if (name === "") throw invalid(`expected NAME = VALUE with commas between them: ${text.slice(at)}`);
    given[name.toLowerCase()] = valueOf(value);
  }
  const read = readingSchema.safeParse(given);
  if (read.success) return read.data;
  const known = Object.keys(readingSchema.shape).join(", ");
  const problems = read.error.issues.map((issue) =>
    issue.code === "unrecognized_keys"
      ? `${issue.keys.join(", ")} cannot be given; what can: ${known}`
      : `${issue.path.join(".")}: ${issue.message}`,
  );
  throw invalid(problems.join("; "));
}

function valueOf(text: string): string | string[] | number | boolean {
  const texts = [...text.matchAll(/'((?:[^']|'')*)'/gu)].map(([, inner = ""]) =>
    inner.replaceAll("''", "'").replaceAll("\\t", "\t"),
  );
  if (text.startsWith("[")) return texts;
  return texts[0] ?? (/^\d/u.test(text) ? Number(text) : text === "true");
}

export type Input = {
  /** Makes the view `input`. */
  view: string;
  /** What DuckDB may read for it. */
  paths: string[];
};

/** @throws QuotekeeperError BACKFILL_NOTHING: a file cannot be read, or has other columns than the first one */
export async function inputOf(duck: Duck, files: readonly string[], reading: Reading): Promise<Input> {
  const parts: string[] = [];
  let first: { file: string; names: readonly string[] } | null = null;
  for (const file of files) {
    const { names, from } = await relationOf(duck, file, reading);
    first ??= { file, names };
    requireSame(first, { file, names });
    const list = names.map((name) => `${identifier(name)}::varchar as ${identifier(name)}`).join(", ");
    parts.push(
      `select ${list}, ${quoted(basename(file))} as "file", row_number() over () as "row" from ${from}`,
    );
  }
  const paths = files.flatMap((file) => [resolve(file), asPattern(file)]);
  return { view: `create view input as ${parts.join("\nunion all ")}`, paths };
}

type Relation = { names: string[]; from: string };

async function relationOf(duck: Duck, file: string, reading: Reading): Promise<Relation> {
  const begin = await beginningOf(file);
  const path = quoted(asPattern(file));
  if (begin === "PAR1") {
    const from = `read_parquet(${path}, hive_partitioning = false)`;
    const rows = await rowsOf(duck, `select column_name from (describe from ${from})`).catch(
      unreadable(file),
    );
    const names = unique(rows.map(([name]) => String(name)));
    return { names, from: `${from} as parquet(${names.map(identifier).join(", ")})` };
  }
  if (begin.startsWith("\u00fe\u00ff"))
    throw nothing(
      file,
      "it is UTF-16 with the higher byte first, which DuckDB does not read; save it as UTF-8",
    );
  const encoding = reading.encoding ?? (begin.startsWith("\u00ff\u00fe") ? "utf-16" : "utf-8");
  const common = `auto_detect = false, hive_partitioning = false, encoding = '${encoding}', skip = ${reading.skip}`;
  const names = await headerOf(duck, file, { ...reading, from: `${path}, ${common}` });
  const { delim, quote, escape, comment, header, nullstr } = reading;
  const options = [
    ...[`delim = ${quoted(delim)}`, `quote = ${quoted(quote)}`, `escape = ${quoted(escape)}`],
    ...(comment === undefined ? [] : [`comment = ${quoted(comment)}`]),
    `header = ${header}, nullstr = [${nullstr.map(quoted).join(", ")}]`,
    // What is not read as it stands is refused with its line, and never guessed.
    "strict_mode = true, store_rejects = true, rejects_limit = 0",
    `columns = {${names.map((name) => `${quoted(name)}: 'VARCHAR'`).join(", ")}}`,
  ];
  return { names, from: `read_csv(${path}, ${common}, ${options.join(", ")})` };
}

/** No file of text has it, so that a line is one cell. */
const NO_DELIMITER = "\u0001";

/** The columns' names, of the first line that is read. */
async function headerOf(
  duck: Duck,
  file: string,
  { from, delim, quote, escape, header }: Reading & { from: string },
): Promise<string[]> {
  const line = `select line from read_csv(${from}, delim = '${NO_DELIMITER}', quote = '', escape = '', header = false,
    columns = {'line': 'VARCHAR'}) limit 1`;
  const [[text] = []] = await rowsOf(duck, line).catch(unreadable(file));
  if (typeof text !== "string") throw nothing(file, "it is empty");
  const how = { delimiter: delim, quote: quote || false, escape: escape || null, bom: true } as const;
  try {
    const [cells = []] = parse(text, how) as string[][];
    return unique(cells.map((cell) => (header ? cell.trim() : "")));
  } catch (cause) {
    throw nothing(file, "the quotes of its first line are not closed", cause);
  }
}

/** Names as DuckDB makes them unique, where upper and lower case are one; `file` and `row` are taken. */
function unique(names: readonly string[]): string[] {
  const taken = new Set(["file", "row"]);
  return names.map((given, place) => {
    const name = given === "" ? `column${place}` : given;
    let free = name;
    for (let more = 1; taken.has(free.toLowerCase()); more++) free = `${name}_${more}`;
    taken.add(free.toLowerCase());
    return free;
  });
}

function requireSame(
  first: { file: string; names: readonly string[] },
  { file, names }: { file: string; names: readonly string[] },
): void {
  if (names.length === first.names.length && names.every((name, place) => name === first.names[place]))
    return;
  const place = first.names.findIndex((name, at) => name !== names[at]);
  const at = place < 0 ? first.names.length : place;
  const shown = (name: string | undefined): string => (name === undefined ? "nothing" : JSON.stringify(name));
  throw nothing(
    file,
    `its column ${at + 1} is ${shown(names[at])}, and that of ${basename(first.file)} is ${shown(first.names[at])}: import files of different columns one by one`,
  );
}

/** The first four bytes, as characters of latin-1. */
async function beginningOf(file: string): Promise<string> {
  const handle = await openFile(file).catch((cause: NodeJS.ErrnoException) => {
    throw nothing(file, `it cannot be read (${cause.code})`, cause);
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

function unreadable(file: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof QuotekeeperError) throw error;
    throw nothing(file, (error as Error).message.split("\n")[0] ?? "", error);
  };
}

/** The path of a file as DuckDB wants it: a pattern that names this file alone. */
function asPattern(file: string): string {
  return resolve(file).replace(/[[*?]/gu, "[$&]");
}

/** A name in SQL. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function nothing(file: string, why: string, cause?: unknown): QuotekeeperError {
  return new QuotekeeperError("BACKFILL_NOTHING", `${file}: ${why}`, { cause });
}
