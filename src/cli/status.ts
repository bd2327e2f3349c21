/** `quotekeeper status`: what is healthy, late or lost. */
import { Option } from "commander";
import { parseWhole } from "./arguments.ts";
import type { AddCommand } from "./command.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges, Sink } from "../run/edges.ts";
import { statusJson } from "../run/statusJson.ts";
import { printJson, printJsonLine } from "./terminal/printJson.ts";
import { type Archive, openArchive } from "../run/archive.ts";
import { createScreen, type Paint, painter, type StyleName } from "./terminal/screen.ts";
import { cutTo, wrapTo } from "./terminal/width.ts";
import { inNewYork } from "../run/durations.ts";
import { type ArchiveDoor, readStatus } from "../run/statusReport.ts";
import type { Line, LineState, StatusReport } from "../run/statusTypes.ts";
import { oneLine, say } from "./terminal/harmless.ts";

/** How often `--watch` looks where nothing else is said, in seconds. */
const WATCH_SECONDS = 5;

/** Once, or again and again. */
export const addStatus: AddCommand = (command, { run, edges }) => {
  command
    .addOption(
      new Option("--watch [seconds]", "look again and again, until Ctrl-C; with --json a document a line")
        .preset(String(WATCH_SECONDS))
        .argParser(parseWhole(1, 86_400)),
    )
    .option("--json", "print JSON", false)
    .action(({ json, watch = null }: { json: boolean; watch?: number | null }) =>
      run((config) => status(config, edges, { json, watchEverySeconds: watch }), { readsOnly: true }),
    );
};

/** @param request.watchEverySeconds null: looks once; else again and again until Ctrl-C */
export type StatusRequest = { json: boolean; watchEverySeconds?: number | null };

/** @returns 0 when nothing needs a person, 1 otherwise; after a watch, what was so at the last look */
export async function status(
  config: Config,
  edges: Edges,
  { json, watchEverySeconds = null }: StatusRequest,
): Promise<number> {
  const door = createDoor(config, edges);
  try {
    if (watchEverySeconds !== null) return await watch({ config, edges, door }, { json, watchEverySeconds });
    const report = await readStatus({ config, clock: edges.clock, door });
    const { isTTY, columns } = edges.stdout;
    if (json) printJson(edges.stdout, statusJson, report);
    else say(edges.stdout, ...statusLines(report.lines, { isTTY, columns }, edges.env));
    return exitCodeOf(report);
  } finally {
    await door.end();
  }
}

async function watch(
  { config, edges, door }: { config: Config; edges: Edges; door: ArchiveDoor },
  { json, watchEverySeconds }: { json: boolean; watchEverySeconds: number },
): Promise<number> {
  const { clock, stdout } = edges;
  const ended = new AbortController();
  const screen = createScreen(stdout);
  // At once, so that a second Ctrl-C, which ends the process in its midst, leaves the terminal as it was as well.
  const stopListening = edges.onInterrupt(() => {
    ended.abort();
    screen.end();
  });
  let shown: StatusReport | null = null;
  const show = (report: StatusReport): void => {
    shown = report;
    const { isTTY, columns, rows } = stdout;
    const place = { isTTY, columns, rows: rows === undefined ? undefined : rows - 1 };
    screen.draw([
      headingOf(report, watchEverySeconds, stdout),
      ...statusLines(report.lines, place, edges.env),
    ]);
  };
  const stopResizing = json ? undefined : stdout.onResize?.(() => shown && stdout.isTTY && show(shown));
  let exitCode = 0;
  try {
    while (!ended.signal.aborted) {
      const report = await readStatus({ config, clock, door });
      exitCode = exitCodeOf(report);
      // Who pressed Ctrl-C meanwhile does not want another look.
      if (ended.signal.aborted) break;
      if (json) printJsonLine(stdout, statusJson, report);
      else show(report);
      await clock.sleep(watchEverySeconds * 1_000, ended.signal).catch(() => undefined);
    }
  } finally {
    stopResizing?.();
    screen.end();
    stopListening();
  }
  return exitCode;
}

function headingOf({ at }: StatusReport, everySeconds: number, { isTTY, columns }: Sink): string {
  const heading = `${inNewYork(new Date(at))}, every ${everySeconds === 1 ? "second" : `${everySeconds} s`}`;
  return isTTY ? cutTo(`${heading}; Ctrl-C ends it`, columns - 1) : heading;
}

function exitCodeOf({ healthy }: StatusReport): number {
  return healthy ? 0 : 1;
}

/** The archive is opened at the first look that needs it and stays open; after a failure the next look opens it anew. */
function createDoor(config: Config, { clock }: Edges): ArchiveDoor & { end: () => Promise<void> } {
  let archive: Archive | null = null;
  const end = async (): Promise<void> => {
    const opened = archive;
    archive = null;
    await opened?.close().catch(() => undefined);
  };
  return {
    open: async () => (archive ??= await openArchive(config, clock)),
    close: async (failed) => (failed ? end() : undefined),
    readOnly: false,
    end,
  };
}

const MARKS: Record<LineState, string> = { ok: "ok", attention: "ATTENTION", idle: "-" };
const STYLES: Record<LineState, StyleName> = { ok: "green", attention: "red", idle: "dim" };

/** Columns of the subject and the mark, with the blank behind each. One column more stays free: a cursor stands there. */
const LEFT = 20;

/** Where the text would get fewer columns than this, it takes the whole width of the next lines. */
const LEAST_TEXT = 20;

/** Blanks before such lines. */
const INDENT = "  ";

/** Characters behind which a line may go on in the next, besides blanks. */
const SEPARATORS = "/,;:";

/** Where the lines are printed; `rows`: as many of them as there is room for, where that is not without end. */
type Place = Pick<Sink, "isTTY" | "columns"> & { rows?: number | undefined };

/**
 * The lines, ready to print, each without its end. On a terminal a line that is too wide goes on in the next; one that
 * needs nobody is cut where otherwise not all of them would be seen at once. Elsewhere nothing is broken.
 */
export function statusLines(
  lines: readonly Line[],
  sink: Place,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const paint = painter(sink, env);
  const width = sink.isTTY ? Math.max(1, sink.columns - 1) : Infinity;
  let spare = (sink.rows ?? Infinity) - lines.length;
  return lines.flatMap((line) => {
    const shown = inFull(line, width, paint);
    if (line.state !== "attention" && shown.length - 1 > Math.max(0, spare))
      return [cutTo(`${leftOf(line)} ${oneLine(line.text)}`, width)];
    spare -= shown.length - 1;
    return shown;
  });
}

/** A line in as many as it needs: its text beside its subject, or below it where that leaves too little room. */
function inFull(line: Line, width: number, paint: Paint): string[] {
  const style = STYLES[line.state];
  const text = oneLine(line.text);
  const below = width - LEFT < LEAST_TEXT;
  const indent = below ? INDENT : " ".repeat(LEFT);
  const parts = width === Infinity ? [text] : wrapTo(text, Math.max(1, width - indent.length), SEPARATORS);
  if (below)
    return [
      ...wrapTo(leftOf(line), width).map((part) => paint(style, part)),
      ...parts.map((part) => `${indent}${part}`),
    ];
  const [first = "", ...more] = parts;
  const left = `${line.subject.padEnd(9)} ${paint(style, MARKS[line.state].padEnd(9))} `;
  return [`${left}${first}`, ...more.map((part) => `${indent}${part}`)];
}

function leftOf({ subject, state }: Line): string {
  return `${subject.padEnd(9)} ${MARKS[state]}`;
}
