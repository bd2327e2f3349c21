/** All that is promised of a release, by kind. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { createProgram } from "../../src/cli/program.ts";
import { systemClock } from "../../src/clock.ts";
import type { Edges, Sink } from "../../src/run/edges.ts";
import { type JsonSchema, promisedJson } from "./jsonFields.ts";
import {
  type Promised,
  promisedCommands,
  promisedErrors,
  promisedMetrics,
  promisedSettings,
  promisedVersions,
} from "./lists.ts";
import { promisedColumns, promisedFunctions } from "./relations.ts";

/**
 * @param root the checkout
 * @param pool of a migrated database
 */
export async function allPromises(root: string, pool: pg.Pool): Promise<Readonly<Record<string, Promised>>> {
  const read = <T>(path: string): T => JSON.parse(readFileSync(join(root, path), "utf8")) as T;
  return {
    versions: promisedVersions(read("package.json")),
    commands: promisedCommands(await commands()),
    settings: promisedSettings(),
    errors: promisedErrors(),
    metrics: promisedMetrics(),
    json: promisedJson(read<{ $defs: Record<string, JsonSchema> }>("docs/json.schema.json")),
    columns: await promisedColumns(pool),
    functions: await promisedFunctions(pool),
  };
}

/** The commands of the program; none of them runs. */
function commands() {
  const sink: Sink = { isTTY: false, columns: 100, write: () => undefined };
  const edges: Edges = {
    clock: systemClock,
    uptimeSeconds: () => 0,
    bootId: null,
    stdout: sink,
    stderr: sink,
    env: {},
    directory: ".",
    onInterrupt: () => () => undefined,
  };
  return createProgram(edges, () => undefined);
}
