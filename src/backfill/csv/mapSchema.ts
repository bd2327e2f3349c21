/** The schema of a map: each option's type, default, bound and sentence, in this one place. */
import { z } from "zod";
import {
  CUT_FIELDS,
  DECIMAL_FIELDS,
  EPOCH_UNITS,
  INSTANT_FIELDS,
  INTEGER_FIELDS,
  NAME_FIELDS,
  NUMBER_FIELDS,
  SYMBOL_FIELDS,
} from "../../read/csvCall.ts";
import { KNOWN_AT_EXAMPLE, readKnownAt } from "../../read/knownAt.ts";
import { ENCODINGS } from "../../read/rowReader.ts";
import { compilePattern } from "../../read/timePattern.ts";
import { isTimeZone } from "../../schedule/jobSchema.ts";

const COLUMN = "expected a column: its name in the header, or its number, from 1 on";
const column = z.string(COLUMN).min(1, COLUMN).max(200, COLUMN);

const TEXT = "expected a value, as a column would have it";
const TIME = "expected a column, or a list of columns that make the time together";
const ZONE = "expected an IANA time zone, such as America/New_York or UTC";
const DELIMITER = "expected one character, such as , or ; or |, or tab";
const NAME = "expected a name of 1 to 64 characters";
const FORMAT = "expected iso, excel, s, ms, us, ns, or a pattern such as %m/%d/%Y %H:%M:%S";

const FACTOR = "expected a number above 0, such as 0.001";
const KNOWN_AT = `expected ${KNOWN_AT_EXAMPLE}`;
const MARK = "expected a character, such as -";
const SKIP = "expected a number of lines, from 0 to 1000";
const FLAG = "expected true or false";
const AFFIX = "expected a text, or a list of texts";

/** What a column may be; `close` is another name of `last`. */
const FIELDS = [
  ...NAME_FIELDS,
  ...DECIMAL_FIELDS,
  ...INTEGER_FIELDS,
  ...INSTANT_FIELDS,
  "close",
  "delayed",
] as const;
type MapField = (typeof FIELDS)[number];

/** One optional entry for each of some fields. */
function forEachField<F extends string, T extends z.ZodType>(
  fields: readonly F[],
  schema: T,
): Record<F, z.ZodOptional<T>> {
  const entries = fields.map((field) => [field, schema.optional()] as const);
  return Object.fromEntries(entries) as Record<F, z.ZodOptional<T>>;
}

const flag = z.string(FLAG).regex(/^(?:true|false)$/iu, FLAG);

const affix = z
  .union(
    [z.string(AFFIX).min(1, AFFIX).max(40, AFFIX), z.array(z.string(AFFIX).min(1, AFFIX)).max(40)],
    AFFIX,
  )
  .default([])
  .transform((given) => [given].flat());

const options = z.strictObject({
  source: z.string(NAME).min(1, NAME).max(64, NAME).optional().describe("Name of the source in the archive."),
  columns: z
    .strictObject({
      ...forEachField(FIELDS, column),
      time: z
        .union([column, z.array(column, TIME).min(1, TIME).max(4, TIME)], TIME)
        .describe("When each row was observed; several columns are joined by a space."),
    })
    .describe("Which column is what."),
  constants: z
    .strictObject({
      ...forEachField([...FIELDS, "time"] as const, z.string(TEXT).max(200, TEXT)),
      delayed: flag.optional(),
    })
    .default({})
    .describe(
      "What every row says, or where the column is empty, such as symbol: AAPL. time follows what the columns of time say.",
    ),
  strip: z
    .strictObject(forEachField(SYMBOL_FIELDS, z.strictObject({ prefix: affix, suffix: affix })))
    .optional()
    .describe("What is taken off names where it is there, such as symbol: { suffix: .US }."),
  scale: z
    .strictObject(
      forEachField(
        [...NUMBER_FIELDS, "close"],
        z.string(FACTOR).refine((text) => /^\d{1,9}(\.\d{1,9})?$/u.test(text) && /[1-9]/u.test(text), FACTOR),
      ),
    )
    .optional()
    .describe("What numbers are multiplied by, such as strike: 0.001."),
  wholePart: z
    .array(z.enum(CUT_FIELDS))
    .optional()
    .describe("Counts of which a fraction is cut off, such as volume; the report says of how many."),
  volumeOf: z
    .enum(["day", "bar"])
    .default("day")
    .describe("Whether volume is the day's so far, or the bar's own, which is added up."),
  symbols: z
    .strictObject({
      upper: z.boolean(FLAG).default(false),
      classMark: z
        .string(MARK)
        .regex(/^[^\sa-z0-9]$/iu, MARK)
        .optional(),
      rename: z.record(z.string(), z.string(TEXT).min(1, TEXT).max(32, TEXT)).optional(),
    })
    .optional()
    .describe(
      "How symbol and underlying become names of the archive, behind strip: in capitals, BRK-B as BRK.B, or by a list.",
    ),
  numberSigns: z
    .boolean(FLAG)
    .default(false)
    .describe("Whether numbers may have a currency's sign, and K, M, B or T behind them: $150.11, 45.33M."),
  timeFormat: z
    .string(FORMAT)
    .default("iso")
    .describe(
      "How times are written: iso, a number since 1970 (s, ms, us, ns), a spreadsheet's number of a day (excel), or a pattern.",
    ),
  knownAt: z
    .string(KNOWN_AT)
    .refine((text) => readKnownAt(text) !== null, KNOWN_AT)
    .optional()
    .describe(
      "When the values of a row were known, where its time does not say it: at the close of its date's session (close, close - 15m), or at the end of a bar that begins at its time (time + 1m).",
    ),
  timezone: z
    .string(ZONE)
    .refine(isTimeZone, ZONE)
    .optional()
    .describe("Zone of times without their own offset; required unless each has one."),
  ambiguous: z
    .enum(["earlier", "later", "refuse"])
    .default("earlier")
    .describe("What a local time means that clocks show twice, in the hour that autumn repeats."),
  expirationFormat: z
    .string()
    .default("iso")
    .describe("How expirations are written: iso, excel, or a pattern such as %m/%d/%Y."),
  // Text here, as under `columns`: keys have one kind of value (MAP_TEXT_KEYS).
  delayed: flag
    .transform((text) => /^true$/iu.test(text))
    .default(false)
    .describe("Whether the quotes are delayed ones; a row whose column says otherwise goes before it."),
  securityType: z
    .string(TEXT)
    .min(1, TEXT)
    .max(16, TEXT)
    .optional()
    .describe("Type of securities that are no options. Default: CS, or what the archive knows."),
  skip: z
    .number(SKIP)
    .int(SKIP)
    .min(0, SKIP)
    .max(1_000, SKIP)
    .default(0)
    .describe("How many lines stand before the header, or before the first row where there is no header."),
  header: z.boolean().default(true).describe("Whether the first line names the columns."),
  delimiter: z
    .string(DELIMITER)
    .transform((text) => (text === "tab" ? "\t" : text))
    .refine((text) => /^[\t !#-&(-,./:-@^_`{-~]$/u.test(text) && text !== ".", DELIMITER)
    .default(",")
    .describe("What separates columns."),
  encoding: z.enum(ENCODINGS).default("utf-8").describe("How the file's text is written."),
  decimal: z.enum([".", ","]).default(".").describe("What stands before the fraction of a number."),
  raw: z
    .boolean()
    .default(false)
    .describe(
      "Whether an apostrophe before = + - @ belongs to the text, as in `export --raw`. Otherwise it is there for spreadsheets, and taken off.",
    ),
  absent: z
    .array(z.string().max(40), "expected a list of texts")
    .default([])
    .describe("Texts that stand for no value, besides the empty one, null, na, n/a and NaN."),
});

export const mapSchema = options.superRefine((map, context) => {
  const { columns, constants } = map;
  const has = (field: MapField): boolean => columns[field] !== undefined || constants[field] !== undefined;
  const fail = (path: string[], message: string): void =>
    void context.addIssue({ code: "custom", path, message });
  const contract = (["expiration", "type", "strike"] as const).filter(has);
  if (!has("symbol") && !has("occ") && !has("underlying"))
    fail(["columns", "symbol"], "expected symbol, occ, or underlying with expiration, type and strike");
  if (contract.length > 0 && contract.length < 3)
    fail(["columns", "strike"], "expiration, type and strike go together");
  if (has("close") && has("last")) fail(["columns", "close"], "expected last or close: they are the same");
  if (![...DECIMAL_FIELDS, ...INTEGER_FIELDS, "close" as const].some((field) => columns[field] !== undefined))
    fail(["columns"], "is not enough: expected a column of values, such as last, bid or ask");
  if (!map.header)
    for (const [name, given] of Object.entries(columns))
      if ([given].flat().some((one) => one !== undefined && !/^[1-9]\d{0,3}$/u.test(one)))
        fail(["columns", name], "expected a column's number, as the file has no header");
  const zoned = zoneOf(map.timeFormat);
  if (typeof zoned === "string") fail(["timeFormat"], `${FORMAT}: ${zoned}`);
  else if (!zoned && map.timezone === undefined && map.timeFormat !== "iso" && !isOfDate(map.knownAt))
    fail(["timezone"], ZONE);
  if (isOfDate(map.knownAt) && constants.time !== undefined)
    fail(["constants", "time"], "does not go with knownAt, which says the time of day");
  if (map.volumeOf === "bar" && columns.volume === undefined)
    fail(["volumeOf"], "needs columns.volume, whose numbers are added up");
  if (map.expirationFormat === "iso" || map.expirationFormat === "excel") return;
  const pattern = compilePattern(map.expirationFormat, { whole: true });
  if (!pattern.ok) fail(["expirationFormat"], `expected iso, or a pattern: ${pattern.problem}`);
});

/** What holds of a map whatever else is wrong with it: enough to hold its columns against a header. */
export const outlineSchema = options
  .pick({ header: true, delimiter: true, encoding: true, skip: true })
  .loose()
  .extend({ columns: z.record(z.string(), z.union([column, z.array(column)]).catch([])).catch({}) });

export const COLUMN_NAMES: readonly string[] = ["time", ...FIELDS];

export type CsvMap = z.infer<typeof mapSchema>;

/** Names whose values are text whatever they look like: `007` is a symbol, and `true` may be a column's name. */
export const MAP_TEXT_KEYS: ReadonlySet<string> = new Set([
  ...FIELDS,
  "source",
  "time",
  "timeFormat",
  "timezone",
  "expirationFormat",
  "delimiter",
  "encoding",
  "decimal",
  "absent",
  "prefix",
  "suffix",
  "knownAt",
  "classMark",
]);

/** Whether only the dates of rows matter. */
export function isOfDate(knownAt: string | undefined): boolean {
  return knownAt !== undefined && readKnownAt(knownAt)?.from === "close";
}

/** Whether each time of a format says its own offset; a text: what is wrong with the format. */
function zoneOf(format: string): boolean | string {
  if (EPOCH_UNITS[format] !== undefined) return true;
  if (format === "iso" || format === "excel") return false;
  const compiled = compilePattern(format, { whole: true });
  return compiled.ok ? compiled.pattern.saysZone : compiled.problem;
}
