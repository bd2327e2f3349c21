/** `quotekeeper lake`: whole days of the archive as proven Parquet files, and quotes that only the lake has. */
import { resolve } from "node:path";
import { HOT_DAYS } from "../config/environment.ts";
import { readKnownLake } from "../archive/export/lakeRows.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { dropHot } from "../files/lake/dropHot.ts";
import { LakeFiles } from "../files/lake/lakeFiles.ts";
import { restoreLake } from "../files/lake/restoreLake.ts";
import { verifyLake } from "../files/lake/verifyLake.ts";
import { withLake, someOf } from "../files/lake/whichLake.ts";
import { writeLake } from "../files/lake/writeLake.ts";
import { noteLake } from "../status/lakeJob.ts";
import { requireArchive, withSchema } from "../archive/openArchive.ts";
import { type Edges, endingAtInterrupt } from "../ground/edges.ts";
import { VERSION } from "../ground/version.ts";
import { parseDate, wrongOrder } from "./arguments.ts";
import {
  type DropReport,
  type LakeReport,
  lakeJson,
  lakeRestoreJson,
  lakeVerifyJson,
} from "../files/lake/lakeReports.ts";
import { command, flag, option, required } from "./command.ts";
import { oneLine, say } from "./terminal/harmless.ts";
import { StatusLine } from "./terminal/statusLine.ts";
import type pg from "pg";
import { bytes, counted, thousands } from "../ground/figures.ts";

const out = option("<directory>", "the lake's directory; default: QUOTEKEEPER_LAKE_DIR");

function lakeDirOf({ lakeDir }: Config, { directory }: Edges, given: { out: string | null }): string {
  const named = given.out ?? lakeDir;
  if (named === undefined)
    throw new QuotekeeperError("USAGE", "name the lake's directory: --out, or QUOTEKEEPER_LAKE_DIR");
  return resolve(directory, named);
}

const DAY_MS = 86_400_000;

/** Errors after which the lake is verified without the database: a copy of a lake may have none. */
const NOT_ASKED: readonly string[] = ["ARCHIVE_EMPTY", "DATABASE_UNREACHABLE"];

const verify = command({
  does: "reads every file of the lake and compares it with its manifest; exit code 1 when one differs",
  options: { out },
  json: lakeVerifyJson,
  readsOnly: true,
  run: async (config, edges, { printJson, ...given }) => {
    const out = lakeDirOf(config, edges, given);
    const line = new StatusLine(edges.stderr, edges.clock);
    const known = await withPool(config, edges, readKnownLake).catch((error: unknown) => {
      if (!(error instanceof QuotekeeperError) || !NOT_ASKED.includes(error.code)) throw error;
      say(edges.stderr, `The database is not asked whether it has dropped other quotes: ${error.message}`);
      return null;
    });
    const report = await endingAtInterrupt(edges, (signal) =>
      verifyLake(new LakeFiles(out), {
        known,
        signal,
        onFile: (path, rows) => line.progress(() => `${path} | ${counted(rows, "row")}`),
      }),
    ).finally(() => line.end());
    if (printJson) printJson({ out, ...report });
    else
      say(
        edges.stdout,
        ...report.faults.map(({ path, what }) => `${path}: ${what}`),
        ...report.unfinished.map(
          (of) =>
            `${of}: a run was cut short, or left a table out; the next \`quotekeeper lake\` goes on there`,
        ),
        `${counted(report.dates, "date")}, ${counted(report.files, "file")}, ${counted(report.rows, "row")}, ${bytes(report.bytes)}: ${report.faults.length === 0 ? "all as the manifests say" : `${report.faults.length} are not as the manifests say`}.`,
      );
    return report.faults.length > 0 ? 1 : 0;
  },
});

/** Exit code 0; 1 when the lake lacks dropped quotes. */
const restore = command({
  does: "brings quotes back that were dropped from the database",
  options: {
    out,
    from: required(option("<date>", "first exchange date, YYYY-MM-DD", parseDate)),
    to: required(option("<date>", "last exchange date, YYYY-MM-DD", parseDate)),
  },
  json: lakeRestoreJson,
  check: wrongOrder,
  run: async (config, edges, { from, to, printJson, ...given }) => {
    const out = lakeDirOf(config, edges, given);
    const line = new StatusLine(edges.stderr, edges.clock);
    const report = await withPool(config, edges, (pool, signal) =>
      withLake({ pool, out, begin: null }, (lake) =>
        restoreLake(pool, {
          lake,
          from,
          to,
          signal,
          onDate: (of, rows) => line.progress(() => `${of} | ${counted(rows, "quote")}`),
        }),
      ),
    ).finally(() => line.end());
    if (printJson) printJson({ out, ...report });
    else
      say(
        edges.stdout,
        `${counted(report.dates.length, "date is", "dates are")} whole again: ${counted(report.rows.quotes, "quote")} and ${counted(report.rows.extended_quotes, "extended quote")} came back.`,
        ...missingLine(report.missing),
      );
    return report.missing.length > 0 ? 1 : 0;
  },
});

/** Exit code 0; 1 when the archive or the lake has lost quotes that the other has, or a table was left out. */
export const lake = command({
  options: {
    out,
    through: option("<date>", "last exchange date to write, YYYY-MM-DD; default: yesterday", parseDate),
    dropHot: flag(
      "drop quotes from the database that are in proven files and older than QUOTEKEEPER_LAKE_HOT_DAYS",
    ),
    anew: flag(
      "make the lake of this directory the archive's, or begin one there if it is empty. It is refused while the directory lacks dropped quotes",
    ),
  },
  json: lakeJson,
  lake: lakeDirOf,
  run: async (config, edges, { through, dropHot: drops, anew, printJson, ...given }) => {
    const out = lakeDirOf(config, edges, given);
    const line = new StatusLine(edges.stderr, edges.clock);
    const { report, dropped } = await withPool(config, edges, async (pool, signal) => {
      const program = `quotekeeper ${VERSION}`;
      return withLake({ pool, out, begin: { program, anew } }, async (lake) => {
        const report = await writeLake(lake, {
          pool,
          signal,
          program,
          through,
          onProgress: ({ date: of, done, dates, table, rows }) =>
            line.progress(
              () =>
                `${done} of ${counted(dates, "date")} | ${[of, table].join(" ").trim()} | ${counted(rows, "row")}`,
            ),
        });
        const before = new Date(edges.clock.now().getTime() - (config.lakeHotDays ?? HOT_DAYS) * DAY_MS);
        const dropped = drops
          ? await dropHot(pool, { files: lake.files, before, signal })
          : { dropped: [], notDropped: [] };
        return { report, dropped };
      });
    }).finally(() => line.end());
    const { kept, missing } = report;
    if (config.lakeDir !== undefined && resolve(edges.directory, config.lakeDir) === out)
      await noteLake(resolve(config.dataDir), {
        at: edges.clock.now().toISOString(),
        through: report.through,
        kept,
        failed: null,
      });
    if (printJson) printJson({ out, ...report, ...dropped });
    else say(edges.stdout, ...writtenLines(report, { out, through }), ...droppedLines(dropped));
    return kept.length > 0 || missing.length > 0 || report.leftOut.length > 0 ? 1 : 0;
  },
  commands: { verify, restore },
});

function writtenLines(
  report: LakeReport,
  { out, through }: { out: string; through: string | null },
): string[] {
  const nothing =
    through === null && report.through === null
      ? "no day is over yet"
      : `the lake goes through ${report.through}`;
  return [
    report.files === 0
      ? `Nothing to write: ${nothing}.`
      : `${counted(report.written.length, "date")} written and ${thousands(report.rewritten.length)} written again, ${report.through === null ? "no date is over yet" : `through ${report.through}`}: ${counted(report.rows, "row")} in ${counted(report.files, "file")}, ${bytes(report.bytes)}: ${oneLine(out)}`,
    ...report.kept.map(
      (of) =>
        `${of}: the archive has fewer quotes than the lake, so its files stay; \`quotekeeper lake restore\` brings them back`,
    ),
    ...(report.waiting.length > 0
      ? [`${someOf(report.waiting)}: bars are still to be made; the next run writes these dates`]
      : []),
    ...missingLine(report.missing),
    ...report.leftOut.map(
      ({ date: of, table, why }) =>
        `${of ?? table}: ${why}, which no file can have, so ${table} was left out; the database keeps it`,
    ),
  ];
}

function droppedLines({ dropped, notDropped }: DropReport): string[] {
  return [
    ...dropped.map(({ from, to, quotes }) => `dropped ${counted(quotes, "quote")} from ${from} to ${to}`),
    ...notDropped.map(({ from, to, why }) => `kept ${from} to ${to} in the database: ${why}`),
  ];
}

function missingLine(missing: readonly string[]): string[] {
  return missing.length === 0
    ? []
    : [
        `quotes of ${someOf(missing)} were dropped from the database, and their files are not in the lake: bring days/, quotes/ and extended_quotes/ of these dates from a copy`,
      ];
}

async function withPool<T>(
  config: Config,
  edges: Edges,
  work: (pool: pg.Pool, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  await requireArchive(config);
  return endingAtInterrupt(edges, (signal) =>
    withSchema(config, { clock: edges.clock }, ({ pool }) => work(pool, signal)),
  );
}
