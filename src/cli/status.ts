/** `quotekeeper status`: what is healthy, late or lost. */
import type { Config } from "../config/loadEnvironment.ts";
import type { Edges } from "./edges.ts";
import { statusJson } from "./json/status.ts";
import { printJson, printJsonLine } from "./json/print.ts";
import { type Archive, openArchive } from "./parts/archive.ts";
import { createScreen } from "./parts/screen.ts";
import { shortUtc } from "./parts/spans.ts";
import { type ArchiveDoor, readStatus } from "./parts/statusReport.ts";
import { statusLines } from "./parts/statusText.ts";
import type { StatusReport } from "./parts/statusTypes.ts";

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
    if (watchEverySeconds !== null) return await watch(config, edges, door, { json, watchEverySeconds });
    const report = await readStatus(config, edges.clock, door);
    if (json) printJson(edges.stdout, statusJson, report);
    else edges.stdout.write(`${textOf(report, edges).join("\n")}\n`);
    return exitCodeOf(report);
  } finally {
    await door.end();
  }
}

async function watch(
  config: Config,
  edges: Edges,
  door: ArchiveDoor,
  { json, watchEverySeconds }: { json: boolean; watchEverySeconds: number },
): Promise<number> {
  const { clock, stdout } = edges;
  const ended = new AbortController();
  const stopListening = edges.onInterrupt(() => ended.abort());
  const screen = createScreen(stdout);
  let exitCode = 0;
  try {
    while (!ended.signal.aborted) {
      const report = await readStatus(config, clock, door);
      exitCode = exitCodeOf(report);
      // Who pressed Ctrl-C meanwhile does not want another look.
      if (ended.signal.aborted) break;
      if (json) printJsonLine(stdout, statusJson, report);
      else {
        const every = watchEverySeconds === 1 ? "second" : `${watchEverySeconds} s`;
        const heading = `${shortUtc(new Date(report.at))} UTC, every ${every}${stdout.isTTY ? "; Ctrl-C ends it" : ""}`;
        screen.draw([heading, ...textOf(report, edges)]);
      }
      await clock.sleep(watchEverySeconds * 1_000, ended.signal).catch(() => undefined);
    }
  } finally {
    screen.end();
    stopListening();
  }
  return exitCode;
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
    end,
  };
}
