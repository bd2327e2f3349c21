/** `quotekeeper status`: what is healthy, late or lost. */
import { parseWhole } from "./arguments.ts";
import { command, option } from "./command.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges, Sink } from "../ground/edges.ts";
import { statusJson, type StatusReport } from "../status/statusJson.ts";
import { type Archive, endPool, openRunning } from "../archive/openArchive.ts";
import { createScreen } from "./terminal/screen.ts";
import { statusLines } from "./terminal/statusText.ts";
import { cutTo } from "./terminal/width.ts";
import { inNewYork } from "../market/durations.ts";
import type { ArchiveDoor } from "../status/statusArchive.ts";
import { readStatus } from "../status/statusReport.ts";
import { say } from "./terminal/harmless.ts";

const WATCH_SECONDS = 5;

/** Exit code 0 when nothing needs a person, else 1; after a watch, the result of the last look. */
export const status = command({
  options: {
    watch: option(
      "[seconds]",
      `look again every ${WATCH_SECONDS} s, or as often as you say, until Ctrl-C; with --json a document a line`,
      parseWhole(1, 86_400),
    ),
  },
  json: statusJson,
  readsOnly: true,
  run: async (config, edges, { watch: every, printJson }) => {
    const door = createDoor(config, edges);
    try {
      if (every !== null)
        return await watch(
          { config, edges, door },
          { json: printJson !== null, everySeconds: every === true ? WATCH_SECONDS : every },
        );
      const report = await readStatus({ config, clock: edges.clock, door, bootId: edges.bootId });
      const { isTTY, columns } = edges.stdout;
      if (printJson) printJson(report);
      else say(edges.stdout, ...statusLines(report.lines, { isTTY, columns }, edges.env));
      return exitCodeOf(report);
    } finally {
      await door.end();
    }
  },
});

async function watch(
  { config, edges, door }: { config: Config; edges: Edges; door: ArchiveDoor },
  { json, everySeconds }: { json: boolean; everySeconds: number },
): Promise<number> {
  const { clock, stdout, bootId } = edges;
  const ended = new AbortController();
  const screen = createScreen(stdout);
  // The screen ends at once: a second Ctrl-C ends the process, and must not leave the terminal on its second screen.
  const stopListening = edges.onInterrupt(() => {
    ended.abort();
    screen.end();
  });
  let shown: StatusReport | null = null;
  const show = (report: StatusReport): void => {
    shown = report;
    const { isTTY, columns, rows } = stdout;
    const place = { isTTY, columns, rows: rows === undefined ? undefined : rows - 1 };
    screen.draw([headingOf(report, everySeconds, stdout), ...statusLines(report.lines, place, edges.env)]);
  };
  const stopResizing = json ? undefined : stdout.onResize?.(() => shown && stdout.isTTY && show(shown));
  let exitCode = 0;
  try {
    while (!ended.signal.aborted) {
      const report = await readStatus({ config, clock, door, bootId });
      exitCode = exitCodeOf(report);
      // After Ctrl-C nobody wants another look.
      if (ended.signal.aborted) break;
      if (json) stdout.write(`${JSON.stringify(report)}\n`);
      else show(report);
      await clock.sleep(everySeconds * 1_000, ended.signal).catch(() => undefined);
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

/** Opens the archive at the first look that needs it and keeps it open; after a failure the next look opens it again. */
function createDoor(config: Config, { clock }: Edges): ArchiveDoor & { end: () => Promise<void> } {
  let archive: Archive | null = null;
  let looking = new AbortController();
  const end = async (): Promise<void> => {
    const opened = archive;
    archive = null;
    looking.abort();
    looking = new AbortController();
    if (opened) await endPool(opened.pool, clock, opened.close);
  };
  return {
    open: async () => (archive ??= await openRunning(config, clock, looking.signal)),
    close: async (failed) => (failed ? end() : undefined),
    readOnly: false,
    end,
  };
}
