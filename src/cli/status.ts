/** `quotekeeper status`: what is healthy, late or lost. */
import { Option } from "commander";
import { parseWhole } from "./arguments.ts";
import type { AddCommand } from "./command.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges, Sink } from "../run/edges.ts";
import { statusJson } from "../run/statusJson.ts";
import { printJson, printJsonLine } from "./terminal/printJson.ts";
import { type Archive, openArchive } from "../run/archive.ts";
import { createScreen, cutTo, wrapTo, type Paint, painter, type StyleName } from "./terminal/screen.ts";
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
      run((config) => status(config, edges, { json, watchEverySeconds: watch })),
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
    if (json) printJson(edges.stdout, statusJson, report);
    else say(edges.stdout, ...textOf(report, edges));
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
    screen.draw([headingOf(report, watchEverySeconds, stdout), ...textOf(report, edges)]);
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

function textOf({ lines }: StatusReport, { stdout, env }: Edges): string[] {
  return statusLines(lines, stdout, env);
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

/** Where the text would get fewer columns than this, one that goes on takes the whole width of the next lines. */
const LEAST_TEXT = 20;

/** Blanks before such lines. */
const INDENT = "  ";

/** Characters behind which a line may go on in the next, besides blanks. */
const SEPARATORS = "/,;:";

/** Lines that the report is to have at most, when nothing needs a person. */
const MOST_LINES = 10;

/**
 * The lines, ready to print, each without its end. On a terminal a line that is too wide goes on in the next, as far as
 * all of it stays within ten; beyond that a line that needs nobody is cut. Elsewhere nothing is cut.
 */
export function statusLines(
  lines: readonly Line[],
  sink: Pick<Sink, "isTTY" | "columns">,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const paint = painter(sink, env);
  const width = Math.max(1, sink.columns - 1);
  const room = width - LEFT;
  let spare = MOST_LINES - lines.length;
  return lines.flatMap((line) => {
    const { subject, state } = line;
    const text = oneLine(line.text);
    const left = `${subject.padEnd(9)} ${paint(STYLES[state], MARKS[state].padEnd(9))} `;
    if (!sink.isTTY) return [`${left}${text}`];
    if (room < LEAST_TEXT) return narrow({ ...line, text }, width, paint);
    const [first = "", ...more] = wrapTo(text, room, SEPARATORS);
    if (state !== "attention" && more.length > spare) return [`${left}${cutTo(text, room)}`];
    spare -= more.length;
    return [`${left}${first}`, ...more.map((part) => `${" ".repeat(LEFT)}${part}`)];
  });
}

/** On a strip of a terminal: what needs nobody in one line, what needs a person in full, below its subject. */
function narrow({ subject, state, text }: Line, width: number, paint: Paint): string[] {
  const left = `${subject.padEnd(9)} ${MARKS[state]}`;
  if (state !== "attention") return [cutTo(`${left} ${text}`, width)];
  const below = wrapTo(text, Math.max(1, width - INDENT.length), SEPARATORS);
  return [paint(STYLES[state], cutTo(left, width)), ...below.map((part) => `${INDENT}${part}`)];
}
