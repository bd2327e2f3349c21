/**
 * The SQL that ships with the program. `NNNN_name.sql` makes or changes tables: each is applied once, in the order of its number, and
 * is never edited. `repeat/` has functions, views and comments: one text in force, applied when it changes. `earlier/` brings
 * databases of the versions before the baseline to it.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PACKAGE_ROOT } from "../../ground/packageRoot.ts";

export type Script = {
  name: string;
  sql: string;
  sha256: string;
  /** Sums of earlier texts that leave a database as this one does. Absent: there are none. */
  formerly?: readonly string[];
};

/** A file that is applied once; the number is the version of the schema behind it. */
export type Migration = Script & { version: number };

export type History = {
  /** The first is the baseline: the tables of its version, for an empty database. */
  migrations: readonly Migration[];
  /** From versions before the baseline to it. */
  earlier: readonly Migration[];
  repeated: readonly Script[];
};

const MIGRATIONS_DIR = join(PACKAGE_ROOT, "migrations");

/** Reads the files of a directory that is laid out as `migrations/` is. */
export async function readHistory(dir: string = MIGRATIONS_DIR): Promise<History> {
  const [migrations, earlier, repeated] = await Promise.all([
    readScripts(dir),
    readScripts(join(dir, "earlier")),
    readScripts(join(dir, "repeat")),
  ]);
  return { migrations: migrations.map(numbered), earlier: earlier.map(numbered), repeated };
}

export async function newestVersion(): Promise<number> {
  const { migrations } = await readHistory();
  return migrations.at(-1)?.version ?? 0;
}

async function readScripts(dir: string): Promise<Script[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(dir, name), "utf8");
      const formerly = [...sql.matchAll(/^-- formerly (\w{64})$/gmu)].map(([, sum = ""]) => sum);
      const sha256 = createHash("sha256").update(sql).digest("hex");
      return { name, sql, sha256, ...(formerly.length > 0 && { formerly }) };
    }),
  );
}

function numbered(script: Script): Migration {
  return { ...script, version: Number(script.name.slice(0, 4)) };
}

/** The statements of a script, each with the comment before it. Text in quotes, between `$$` and behind `--` may have semicolons. */
export function statementsOf({ sql }: Script): string[] {
  const found = sql.match(/(?:--[^\n]*|\$\$.*?\$\$|'[^']*'|[^;])+/gsu) ?? [];
  return found.filter((statement) => statement.replace(/--[^\n]*/gu, "").trim() !== "");
}
