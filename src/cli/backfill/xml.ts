/** `quotekeeper backfill --xml`: saved answers of the service. */
import { resolve } from "node:path";
import type pg from "pg";
import { placeInTime } from "../../backfill/files/placeInTime.ts";
import type { PieceBatch } from "../../backfill/files/piece.ts";
import { bytesBelow } from "../../backfill/xml/findFiles.ts";
import { type FileFate, savedAnswers } from "../../backfill/xml/savedAnswers.ts";
import { NAME_ZONE, createTimeFinder } from "../../backfill/xml/savedTime.ts";
import { FileTally } from "../../backfill/xml/tally.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { TimeRange } from "../../journal/record.ts";
import type { Edges } from "../../ground/edges.ts";
import { backfilling, type Display } from "./display.ts";
import { runImport } from "./importing.ts";
import { type CommonRequest, printDryRun, printReport } from "./report.ts";

type XmlRequest = CommonRequest &
  TimeRange & {
    paths: string[];
    timePattern: string | null;
    /** The source's name in the archive; null: `xml`. */
    name: string | null;
    delayed: boolean;
  };

/** @returns 0; 1 when a file could not be read, or a quote could not become a row */
export async function backfillXml(config: Config, edges: Edges, request: XmlRequest): Promise<number> {
  const { timePattern, delayed, from, to, dryRun, printJson } = request;
  const paths = request.paths.map((path) => resolve(edges.directory, path));
  const name = request.name ?? "xml";
  // A wrong pattern is an error before anything is opened.
  createTimeFinder(timePattern);
  const total = await bytesBelow(paths);
  let tally = new FileTally({ withPattern: timePattern !== null });
  const read = async function* (pool: pg.Pool | null, display: Display): AsyncGenerator<PieceBatch, void> {
    tally = new FileTally({ withPattern: timePattern !== null });
    const onFile = (file: FileFate): void => {
      tally.add(file);
      logFile(display, file, { each: dryRun && tally.files <= MOST_LOGGED });
    };
    const batches = savedAnswers({ paths, timePattern, name, delayed, from, to, onFile });
    for await (const { answers, doing, done } of batches)
      yield { pieces: answers.length > 0 ? await placeInTime(pool, name, answers) : [], doing, done };
    if (!tally.foundAny)
      throw new QuotekeeperError("BACKFILL_NOTHING", `${request.paths.join(", ")}: there is no saved answer`);
  };
  const asked = { kind: "xml" as const, paths, timePattern, name, delayed, from, to };
  const { resumed, report: imported } = await backfilling(
    { config, edges, title: "reading saved answers" },
    (backfill) =>
      runImport(backfill, {
        asked,
        name,
        dryRun,
        total,
        read: (pool) => read(pool, backfill.display),
      }),
  );
  const report = { ...imported, damagedBytes: tally.unreadableBytes };
  const zone = `Local     times without an offset are taken for ${NAME_ZONE}`;
  const remarks = [...tally.remarks(), zone];
  if (dryRun)
    return printDryRun(edges, { kind: "xml", report, remarks }, printJson) || Number(tally.unreadable > 0);
  printReport(edges, { kind: "xml", dryRun, resumed, report, remarks }, printJson);
  return report.deadLetters.length > 0 || tally.unreadable > 0 ? 1 : 0;
}

/** Files that a dry run logs one by one. The report counts all files; the debug log has all. */
const MOST_LOGGED = 100;

/** Logs an unreadable file as a warning, any other one as info when `each` is set, else for debugging. */
function logFile({ log }: Display, file: FileFate, { each }: { each: boolean }): void {
  if (file.fate === "sidecar") return;
  if (file.fate === "unreadable") {
    log.warn({ file: file.path, problem: file.problem }, "cannot be read");
    return;
  }
  const level = each ? "info" : "debug";
  if (file.fate === "foreign") log[level]({ file: file.path }, "is not XML");
  if (file.fate === "passed") log[level]({ file: file.path }, "is a link or a device, and passed over");
  if (file.fate === "answer" || file.fate === "outside") {
    const text = file.fate === "answer" ? "a saved answer" : "a saved answer outside --from and --to";
    log[level]({ file: file.path, observedAt: file.at, way: file.way }, text);
  }
}
