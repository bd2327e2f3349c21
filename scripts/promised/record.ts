/** All that is promised of a release, by what it is of. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { commandsShown } from "../docs/commands.ts";
import { promisedColumns, promisedFunctions } from "./database.ts";
import { headFields, recordHeads } from "./journal.ts";
import {
  type Promised,
  promisedCommands,
  promisedErrors,
  promisedJson,
  promisedMetrics,
  promisedSettings,
  promisedVersions,
} from "./program.ts";

/** Promises of one kind, by the kind's name; `heads` are records of a journal. */
export type PromiseRecord = {
  release: string;
  promises: Readonly<Record<string, Promised>>;
  heads: Promised;
};

type Manifest = Parameters<typeof promisedVersions>[0] & { version: string };

/**
 * @param root the checkout
 * @param pool of a migrated database
 */
export async function promisesOf(root: string, pool: pg.Pool): Promise<PromiseRecord> {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const heads = recordHeads();
  return {
    release: manifest.version,
    promises: {
      version: promisedVersions(manifest),
      "command or flag": promisedCommands(await commandsShown(() => undefined)),
      setting: promisedSettings(),
      error: promisedErrors(),
      "table, view or column": await promisedColumns(pool),
      "SQL function": await promisedFunctions(pool),
      "field of --json": await promisedJson(),
      metric: promisedMetrics(),
      "field of the journal": headFields(heads),
    },
    heads,
  };
}

/** A sentence for each promise that is broken. What is new breaks none. */
export function brokenPromises(recorded: PromiseRecord, today: PromiseRecord): string[] {
  return Object.entries(recorded.promises).flatMap(([kind, promises]) =>
    Object.entries(promises).flatMap(([name, promise]) => {
      const now = today.promises[kind]?.[name];
      if (now === promise) return [];
      return [
        now === undefined
          ? `${recorded.release} promised the ${kind} \`${name}\` (${promise}), which is gone.`
          : `${recorded.release} promised of the ${kind} \`${name}\`: ${promise}. Today it is: ${now}.`,
      ];
    }),
  );
}
