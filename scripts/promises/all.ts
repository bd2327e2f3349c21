/** All that is promised of a release, by kind. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { commandsShown } from "../docs/commands.ts";
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
    commands: promisedCommands(await commandsShown(() => undefined)),
    settings: promisedSettings(),
    errors: promisedErrors(),
    metrics: promisedMetrics(),
    json: promisedJson(read<{ $defs: Record<string, JsonSchema> }>("docs/json.schema.json")),
    columns: await promisedColumns(pool),
    functions: await promisedFunctions(pool),
  };
}
