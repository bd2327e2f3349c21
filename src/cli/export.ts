/** `quotekeeper export`: the archive as files for other engines. */
import { z } from "zod";
import { isKeptSymbol } from "../market/instrument.ts";
import { parseDate, parseNames, parseSymbols, wrongOrder } from "./arguments.ts";
import { choice, command, flag, option, required } from "./command.ts";
import { resolve } from "node:path";
import { EXPORT_TABLES, type ExportTable } from "../archive/export/tables.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { exportArchive as writeExport, type ExportProgress } from "../files/export/exportArchive.ts";
import { type Manifest, manifestSchema } from "../files/export/manifest.ts";
import { type Edges, endingAtInterrupt } from "../ground/edges.ts";
import { requireArchive, withSchema } from "../archive/openArchive.ts";
import { oneLine } from "./terminal/harmless.ts";
import { PROCESSES } from "../ground/processes.ts";
import { createLogger } from "./terminal/logger.ts";
import { roughly } from "../market/durations.ts";
import { StatusLine } from "./terminal/statusLine.ts";
import { right, table } from "./terminal/table.ts";
import { VERSION } from "../ground/version.ts";
import { bytes, counted, thousands } from "../ground/figures.ts";

/** An error leaves everything at `--out` as it was. */
export const exportArchive = command({
  options: {
    format: required(choice("<format>", "what to write", ["parquet", "csv"])),
    out: required(option("<directory>", "directory to make; it appears when all files are written")),
    from: option("<date>", "first exchange date, YYYY-MM-DD; default: the first there is", parseDate),
    to: option("<date>", "last exchange date, YYYY-MM-DD; default: the last there is", parseDate),
    symbols: option("<list>", "only these symbols and their options, separated by commas", (text) =>
      parseSymbols(text, isKeptSymbol),
    ),
    tables: option(
      "<list>",
      `tables, separated by commas, or all; default: ${named(true)}; further: ${named(false)}`,
      (text) => parseNames(text, "table", "quotes,bars_1d"),
    ),
    replace: flag("exchange a finished export that is at --out; anything else there is left alone"),
    raw: flag("in CSV write every text exactly as it is, even if a spreadsheet would run it as a formula"),
  },
  json: z.strictObject({ out: z.string(), ...manifestSchema.shape }),
  readsOnly: true,
  check: (given) =>
    wrongOrder(given) ??
    (given.raw && given.format !== "csv"
      ? "--raw is for --format csv; Parquet always has the exact texts"
      : null),
  run: async (config, edges, { printJson, tables: names, ...wanted }) => {
    const tables = chosenTables(names, wanted.symbols);
    await requireArchive(config);
    const out = resolve(edges.directory, wanted.out);
    const show = await createDisplay(config, edges);
    const manifest = await endingAtInterrupt(edges, (signal) =>
      withSchema(config, { clock: edges.clock }, ({ pool }) =>
        writeExport({
          ...wanted,
          pool,
          out,
          tables,
          signal,
          program: `quotekeeper ${VERSION}`,
          writtenAt: edges.clock.now().toISOString(),
          processes: PROCESSES,
          onProgress: show.progress,
          onWidened: show.widened,
        }),
      ),
    ).finally(show.end);
    if (printJson) printJson({ out, ...manifest });
    else edges.stdout.write(report(out, manifest, edges));
    return 0;
  },
});

function named(byDefault: boolean): string {
  return EXPORT_TABLES.flatMap((one) => (one.byDefault === byDefault ? [one.name] : [])).join(", ");
}

/** @throws QuotekeeperError USAGE */
function chosenTables(tables: string[] | null, symbols: string[] | null): ExportTable[] {
  const known = EXPORT_TABLES.map(({ name }) => name);
  const all = tables?.includes("all") ?? false;
  const unknown = (tables ?? []).filter((name) => name !== "all" && !known.includes(name));
  if (unknown.length > 0)
    throw new QuotekeeperError(
      "USAGE",
      `--tables: ${unknown.join(", ")}; there are ${known.join(", ")}, and all`,
    );
  const chosen = EXPORT_TABLES.filter(({ name, byDefault, symbol }) =>
    all ? !symbols || symbol !== null : tables ? tables.includes(name) : byDefault,
  );
  const whole = !symbols ? [] : chosen.filter(({ symbol }) => symbol === null);
  if (whole.length > 0)
    throw new QuotekeeperError(
      "USAGE",
      `--symbols: the rows of ${whole.map(({ name }) => name).join(", ")} belong to no symbol; leave --symbols or these tables out`,
    );
  return chosen;
}

/** A live line on a terminal, elsewhere log lines; on stderr, because stdout has the result. */
async function createDisplay(config: Config, { clock, stderr, env }: Edges) {
  const line = new StatusLine(stderr, clock);
  const log = await createLogger(config.logLevel, line.above(stderr), env);
  const startedAtMs = clock.monotonicMs();
  let tableShown = "";
  return {
    progress: (progress: ExportProgress): void => {
      if (!stderr.isTTY && progress.table !== tableShown) {
        tableShown = progress.table;
        log.info(
          { table: progress.table, rowsBefore: progress.rows, expected: progress.expected },
          "exporting",
        );
      }
      line.progress(() => progressText(progress, clock.monotonicMs() - startedAtMs));
    },
    widened: (name: string, column: string, type: string): void =>
      log.warn(
        { table: name, column, type },
        "a value needs more digits than usual; all files of this table have the wider type",
      ),
    end: (): void => line.end(),
  };
}

function progressText({ table: name, date, rows, expected }: ExportProgress, elapsedMs: number): string {
  const share = expected === 0 ? 1 : Math.min(1, rows / expected);
  const perSecond = elapsedMs === 0 ? 0 : Math.round((rows * 1_000) / elapsedMs);
  return [
    `${Math.floor(share * 100)} %`,
    [name, date].filter((part) => part !== null).join(" "),
    `${thousands(rows)} of ${counted(expected, "row")}`,
    `${thousands(perSecond)}/s`,
    ...(rows > 0 && rows < expected ? [`${roughly((elapsedMs * (expected - rows)) / rows)} left`] : []),
  ].join(" | ");
}

function report(out: string, { tables, format, symbols }: Manifest, { stdout, env }: Edges): string {
  const columns = ["Table", ...right("Rows", "Files", "Size")];
  const cells = tables.map(({ name, rows, files }) => [
    name,
    thousands(rows),
    thousands(files.length),
    sizeOf(files),
  ]);
  const files = tables.flatMap((one) => one.files);
  const rows = tables.reduce((sum, one) => sum + one.rows, 0);
  const narrowed = symbols === null ? "" : ` of ${symbols.join(", ")}`;
  return `${table(columns, cells, { stdout, env })}\n${counted(rows, "row")}${narrowed} in ${counted(files.length, `${format} file`)}, ${sizeOf(files)}: ${oneLine(out)}\n`;
}

function sizeOf(files: readonly { bytes: number }[]): string {
  return bytes(files.reduce((sum, file) => sum + file.bytes, 0));
}
