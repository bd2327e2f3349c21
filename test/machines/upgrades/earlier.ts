/** Earlier releases of this program, from this checkout's history. */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readHistory } from "../../../src/archive/schema/history.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { clone, must, ROOT } from "../programs.ts";
import { LeftOut, type TrialTools } from "../trial.ts";

/** A program that migrates, and the scripts by which it does, each with its text. */
export type Release = {
  name: string;
  bin: string;
  migrations: { name: string; sql: string }[];
  texts: { name: string; sql: string }[];
};

/** One that is left behind, and the programs that take its archive over, one after the other; the last is this checkout's. */
export type Way = { from: Release; checkout: string; steps: Release[] };

const FIRST = "f3a407b";
const LATER = "36b508f";

/** From the first release, which needs the later one in between, and from the later one. */
export async function waysHere({ dir, say, checkouts }: TrialTools): Promise<Way[]> {
  const place = checkouts ?? join(dir, "checkouts");
  mkdirSync(place, { recursive: true });
  const [first, later] = [join(place, FIRST), join(place, LATER)];
  for (const [into, commit] of [
    [first, FIRST],
    [later, LATER],
  ] as const) {
    if (existsSync(join(into, "dist"))) continue;
    say(`npm ci in a checkout of ${commit}`);
    await checkOut(commit, into);
  }
  const { migrations, earlier, repeated } = await readHistory();
  const bin = compileProgram(join(dir, "program"));
  const today = {
    name: "today's",
    bin,
    migrations: [...earlier, ...migrations.slice(1)],
    texts: [...repeated],
  };
  const between = release(later, LATER);
  return [
    { from: release(first, FIRST), checkout: first, steps: [between, today] },
    { from: between, checkout: later, steps: [today] },
  ];
}

async function checkOut(commit: string, into: string): Promise<void> {
  await clone(into);
  await must("git", ["checkout", "--quiet", commit], { cwd: into }).catch((cause: unknown) => {
    throw new LeftOut(`this checkout's history has no ${commit}: it needs a whole clone`, { cause });
  });
  await must("npm", ["ci"], { cwd: into });
}

function release(checkout: string, name: string): Release {
  const migrations = readdirSync(join(checkout, "migrations"))
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => ({ name: file, sql: "" }));
  return { name, bin: join(checkout, "bin", "quotekeeper.js"), migrations, texts: [] };
}

const WRITE = `
const { allowTypescript } = await import(process.cwd() + "/test/support/postgres/typescript.js");
allowTypescript();
const { writeSample } = await import(process.cwd() + "/bench/backfill/sample.ts");
await writeSample(process.env.JOURNAL, Number(process.env.QUOTES));`;

/** Has an earlier release write a journal of a made-up market: equities and contracts, answers of 325 quotes. */
export async function writeJournal({ checkout }: Way, dataDir: string, quotes: number): Promise<void> {
  const journal = join(dataDir, "journal");
  mkdirSync(journal, { recursive: true });
  await must(process.execPath, ["--input-type=module", "--eval", WRITE], {
    cwd: checkout,
    env: { JOURNAL: journal, QUOTES: String(quotes) },
  });
}

/** Runs a release's program on a data directory; null: on the embedded database. */
export function given(dataDir: string, url: string | null): { cwd: string; env: Record<string, string> } {
  const env = {
    QUOTEKEEPER_DATA_DIR: dataDir,
    QUOTEKEEPER_HTTP_PORT: "0",
    QUOTEKEEPER_JOBS_DIR: join(ROOT, "jobs"),
  };
  return { cwd: dataDir, env: url === null ? env : { ...env, DATABASE_URL: url } };
}
