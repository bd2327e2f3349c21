/** The vendor's files as the relation `input` of a map: what is in them as text, whatever they are. */
import { basename, resolve } from "node:path";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { parse } from "csv-parse/sync";
import { z } from "zod";
import { quoted } from "../../archive/export/duckFiles.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Duck, OF_DUCKDB, rowsOf } from "../sql/duckdb.ts";
import { openFile } from "../../ground/plainFiles.ts";

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

type Input = {
  /** Makes the view `input`. */
  view: string;
  /** What DuckDB may read for it. */
  paths: string[];
};

/** @throws QuotekeeperError BACKFILL_NOTHING: a file cannot be read, or has other columns than the first one */
export async function inputOf(duck: Duck, files: readonly string[], reading: Reading): Promise<Input> {
  const stretches: (Relation & { files: string[] })[] = [];
  let first: NamedColumns | null = null;
  for (const file of files) {
    const relation = await relationOf(duck, file, reading);
    first ??= { file, names: relation.names };
    requireSame(first, { file, names: relation.names });
    const last = stretches.at(-1);
    if (last?.form === relation.form) last.files.push(file);
    else stretches.push({ ...relation, files: [file] });
  }
  const paths = files.flatMap((file) => [resolve(file), asPattern(file)]);
  return { view: `create view input as ${stretches.map(rowsOfFiles).join("\nunion all ")}`, paths };
}

/**
 * The rows of some files, numbered anew in each. One scan of all: DuckDB sorts what comes of several in memory alone.
 */
function rowsOfFiles({ names, from, files }: Relation & { files: readonly string[] }): string {
  const list = names.map((name) => `${identifier(name)}::varchar as ${identifier(name)}`).join(", ");
  const bases = files.map((file) => quoted(basename(file))).join(", ");
  const paths = files.map((file) => quoted(asPattern(file))).join(", ");
  return `select ${list}, [${bases}][(file_index + 1)::bigint] as "file",
      _nth - max(case when file_index is distinct from _before then _nth - 1 end) over (rows unbounded preceding) as "row"
    from (select *, file_index, row_number() over () as _nth, lag(file_index) over () as _before from ${from(`[${paths}]`)})`;
}

/** How files are read. `form`: another one for files that cannot be read together. */
type Relation = { names: string[]; form: string; from: (paths: string) => string };

async function relationOf(duck: Duck, file: string, reading: Reading): Promise<Relation> {
  const { isParquet, isPacked, bytes } = await beginningOf(file);
  const path = quoted(asPattern(file));
  if (isParquet) {
    const from = (paths: string): string => `read_parquet(${paths}, hive_partitioning = false)`;
    const rows = await rowsOf(
      duck,
      `select column_name, column_type from (describe from ${from(path)})`,
    ).catch(unreadable(file));
    const given = rows.map(([name]) => String(name));
    if (given.some((name) => name.toLowerCase() === "file_index"))
      throw nothing(file, "it has a column file_index, which DuckDB needs for itself: rename it");
    const names = unique(given);
    const renamed = given.map((name, place) => `${identifier(name)} as ${identifier(names[place] ?? "")}`);
    return {
      names,
      form: JSON.stringify(rows),
      from: (paths) => `(select ${renamed.join(", ")}, file_index from ${from(paths)})`,
    };
  }
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  const encoding = reading.encoding ?? (isUtf16 ? "utf-16" : "utf-8");
  const { cells, place } = headerIn(new TextDecoder(LABELS[encoding]).decode(bytes), file, reading);
  const names = unique(cells);
  const { delim, quote, escape, comment, nullstr, header, skip } = reading;
  const options = [
    `delim = ${quoted(delim)}, quote = ${quoted(quote)}, escape = ${quoted(escape)}, header = false`,
    ...(comment === undefined ? [] : [`comment = ${quoted(comment)}`]),
    `encoding = '${encoding}', compression = '${isPacked ? "gzip" : "none"}', nullstr = [${nullstr.map(quoted).join(", ")}]`,
    // What is not read as it stands is refused with its line, and never guessed.
    "auto_detect = false, hive_partitioning = false, strict_mode = true, store_rejects = true, rejects_limit = 0",
    `columns = {${names.map((name) => `${quoted(name)}: 'VARCHAR'`).join(", ")}}`,
  ];
  const from = (before: number, ...more: string[]): ((paths: string) => string) => {
    const how = [...options, ...more, `skip = ${before}`].join(", ");
    return (paths) => `read_csv(${paths}, ${how})`;
  };
  if (!header) return { names, form: from(skip)(""), from: from(skip) };
  const asDuck = from(place, "rejects_table = 'header_errors', rejects_scan = 'header_scans'")(path);
  const [found = []] = await rowsOf(duck, `from ${asDuck} limit 1`).catch(unreadable(file));
  // What stands before the first row is left out by DuckDB, and must be what was read here.
  if (cells.some((cell, at) => cell !== (found[at] ?? "")))
    throw nothing(file, "DuckDB finds another header: remove what stands before it, or say skip in the map");
  return { names, form: from(place + 1)(""), from: from(place + 1) };
}

const LABELS = { "utf-8": "utf-8", "utf-16": "utf-16le", "latin-1": "latin1" } as const;

/** How long the lines before a file's rows are, together. */
const MOST_HEADER_BYTES = 1_000_000;

/** The cells of the first line, and its place among lines that are no comments. Without a header: empty ones. */
function headerIn(
  text: string,
  file: string,
  { delim, quote, escape, comment, header, skip }: Reading,
): { cells: string[]; place: number } {
  const lines = text
    .split(/\r\n|\n|\r/u)
    .filter((line) => comment === undefined || !line.startsWith(comment));
  const place = lines.findIndex((line, at) => at >= skip && line !== "");
  const line = lines[place];
  if (line === undefined || (place === lines.length - 1 && text.length >= MOST_HEADER_BYTES))
    throw nothing(file, line === undefined ? "it is empty" : "its first line is too long");
  if (/[\0\ufffd]/u.test(line))
    throw nothing(file, "its first line is no text of the encoding: say encoding in the map");
  try {
    const how = { delimiter: delim, quote: quote || false, escape: escape || null } as const;
    const [cells = []] = parse(line, how) as string[][];
    return { cells: header ? cells : cells.map(() => ""), place };
  } catch (cause) {
    throw nothing(file, "the quotes of its first line are not closed there", cause);
  }
}

/** Columns of `input`, and of what it is made of. */
const TAKEN = ["file", "row", "file_index", "_nth", "_before"];

/** Names as DuckDB makes them unique, where upper and lower case are one. */
function unique(names: readonly string[]): string[] {
  const taken = new Set(TAKEN);
  return names.map((given, place) => {
    const name = given.trim() === "" ? `column${place}` : given.trim();
    let free = name;
    for (let more = 1; taken.has(free.toLowerCase()); more++) free = `${name}_${more}`;
    taken.add(free.toLowerCase());
    return free;
  });
}

type NamedColumns = { file: string; names: readonly string[] };

function requireSame(first: NamedColumns, { file, names }: NamedColumns): void {
  const longer = names.length > first.names.length ? names : first.names;
  const at = longer.findIndex((_, place) => names[place] !== first.names[place]);
  if (at < 0) return;
  const shown = (name: string | undefined): string => (name === undefined ? "nothing" : JSON.stringify(name));
  throw nothing(
    file,
    `its column ${at + 1} is ${shown(names[at])}, and that of ${basename(first.file)} is ${shown(first.names[at])}: import files of different columns one by one`,
  );
}

/** What a file begins with, unpacked. One that is packed is read to its end: DuckDB takes half of it for the whole. */
async function beginningOf(file: string): Promise<{ isParquet: boolean; isPacked: boolean; bytes: Buffer }> {
  try {
    const handle = await openFile(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MOST_HEADER_BYTES), 0, MOST_HEADER_BYTES, 0);
    const bytes = buffer.subarray(0, bytesRead);
    const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const isParquet = bytes.toString("latin1", 0, 4) === "PAR1";
    const raw = handle.createReadStream({ start: 0 });
    if (!isPacked) {
      raw.destroy();
      return { isParquet, isPacked, bytes };
    }
    const parts: Buffer[] = [];
    let length = 0;
    for await (const part of pipeline(raw, createGunzip(), () => undefined) as AsyncIterable<Buffer>) {
      if (length < MOST_HEADER_BYTES) parts.push(part);
      length += part.length;
    }
    return { isParquet: false, isPacked, bytes: Buffer.concat(parts).subarray(0, MOST_HEADER_BYTES) };
  } catch (cause) {
    throw nothing(file, `it cannot be read (${(cause as NodeJS.ErrnoException).code})`, cause);
  }
}

function unreadable(file: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof QuotekeeperError) || !OF_DUCKDB.test(error.detail)) throw error;
    throw nothing(file, inWords(error.detail), error);
  };
}

/** What DuckDB says of a file that it cannot read. */
export function inWords(message: string): string {
  const [first = ""] = message.split("\n");
  return first.includes("state machine") ? "its lines end in more than one way (CR LF, LF, CR)" : first;
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
