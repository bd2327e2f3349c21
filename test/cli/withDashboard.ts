/** A command that has a dashboard, as tests of monitoring run it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import type { TestDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { capturedEdges } from "./edges.ts";

const interrupts: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const interrupt of interrupts) await interrupt();
});

/**
 * Runs a command with a dashboard in this process, over a database of its own, until the tests of the file have ended.
 *
 * @param options.env settings beside those that it needs
 * @param options.schedule when its two instruments are polled; without it each minute
 */
export async function withDashboard(
  command: "start" | "web",
  database: Pick<TestDatabase, "url">,
  { env = {}, schedule = "* * * * *" }: { env?: Record<string, string>; schedule?: string } = {},
) {
  const dir = tempDir();
  mkdirSync(join(dir, "jobs"));
  writeFileSync(
    join(dir, "jobs", "all.yaml"),
    `name: all\nschedule: "${schedule}"\ntimezone: America/New_York\nsession: always\nsymbols: [AAPL, CANARY]\n`,
  );
  const { edges, said, interrupt, stderr } = capturedEdges({
    directory: dir,
    env: {
      DATABASE_URL: database.url,
      QUOTEKEEPER_DATA_DIR: join(dir, "data"),
      QUOTEKEEPER_JOBS_DIR: join(dir, "jobs"),
      QUOTEKEEPER_HTTP_PORT: "0",
      ...env,
    },
  });
  const ended = runProgram([command], edges);
  interrupts.push(() => {
    interrupt();
    return ended;
  });
  const failed = ended.then((code) => Promise.reject(new Error(`it ended with ${code}: ${stderr()}`)));
  failed.catch(() => undefined);
  const [, address = ""] = await Promise.race([said(/^Dashboard {2}(\S+)/m), failed]);
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${address}${path}`, { headers });
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      text: await response.text(),
    };
  };
  return { get, address };
}

/** The values of a metrics text, by name and labels as they stand there. */
export function valuesOf(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const [, series = "", value = ""] = /^(\S+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
      return [series, Number(value)];
    }),
  );
}
