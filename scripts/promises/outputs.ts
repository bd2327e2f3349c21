/** What the built program prints with `--json`, command by command, in an archive of its own. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { fillFixture } from "../sql/fixture.ts";

/** A command with its output; `command` is its name in docs/json.schema.json. */
export type Recorded = { command: string; argv: readonly string[]; exitCode: number; output: unknown };

const JOB = `name: recorded
schedule: "*/5 * * * *"
symbols: [AAPL, GE]
options: [{ underlying: AAPL, expiration: 2027-12-17, type: CALL, strike: 150 }]
chains:
  - { underlying: AAPL, expirations: { next: 1 }, strikes: { around: last, percent: 5, step: 5 } }
`;

/** A collector that has stopped, to be forgotten. */
const COLLECTOR = `
insert into collectors (id, number, name, run, pid, host, version, started_at, seen_at, beat, stopped, jobs_digest, files, knows)
values (gen_random_uuid(), 0, 'quotes-1', 'r', 1, 'h', '1', now(), now(), 0, true, '', '{}', '{}')`;

/** In this order: later ones see what earlier ones have done. */
const COMMANDS: readonly (readonly [command: string, ...more: string[]])[] = [
  ["migrate"],
  ["status"],
  ["poll", "--symbols", "AAPL,GE,NOSUCH"],
  ["poll", "--option", "AAPL:2027-12-17:CALL:150"],
  ["status"],
  ["doctor"],
  ["plan", "--date", "2026-11-23"],
  ["calendar", "--from", "2026-11-23", "--to", "2026-11-27", "--closed"],
  ["jobs check"],
  ["accounts list"],
  ["accounts drain", "default"],
  ["accounts resume", "default"],
  ["accounts forget", "quotes-1"],
  ["coverage", "--from", "2026-11-18", "--to", "2026-11-20"],
  ["journal list"],
  ["journal verify"],
  ["journal accept", "--before", "2026-01-01"],
  ["journal repair"],
  ["backfill", "--journal"],
  ["backfill", "--gaps", "--from", "2026-11-18", "--to", "2026-11-20"],
  ["export", "--format", "csv", "--out", "export"],
  ["lake", "--out", "lake", "--through", "2026-11-20"],
  ["lake verify", "--out", "lake"],
  ["lake", "--out", "lake", "--through", "2026-11-20", "--drop-hot"],
  ["lake restore", "--out", "lake", "--from", "2026-11-18", "--to", "2026-11-18"],
  [
    "sql",
    "--lake",
    "lake",
    "select instrument_id, count(*) as n, max(last) as highest from quotes group by 1 order by 1",
  ],
  ["serve keys add", "recorded"],
  ["serve keys list"],
  ["serve keys revoke", "recorded"],
];

/** Fields of `serve keys add` that are secrets. */
const SECRETS = /^(consumerKey|consumerSecret|token|tokenSecret)$/;

/**
 * Runs all of them.
 *
 * @param bin bin/quotekeeper.js of a built checkout
 * @param world a migrated database, and an empty directory that gets a journal and the rest
 * @throws Error when a command prints no JSON
 */
export async function recordOutputs(
  bin: string,
  { url, pool, dir }: { url: string; pool: pg.Pool; dir: string },
): Promise<Recorded[]> {
  mkdirSync(join(dir, "jobs"));
  writeFileSync(join(dir, "jobs", "recorded.yaml"), JOB);
  await fillFixture(pool);
  // The fixture numbers its instruments itself.
  await pool.query("select setval(pg_get_serial_sequence('instruments', 'id'), 1000)");
  await pool.query(COLLECTOR);
  const env = { PATH: process.env["PATH"], HOME: dir, DATABASE_URL: url };
  const told = (text: string): string =>
    text.replaceAll(dir, "/home/you/quotes").replaceAll(hostname(), "machine");
  const run = (argv: readonly string[], more: Record<string, string> = {}) => {
    const given = { cwd: dir, env: { ...env, ...more }, encoding: "utf8" } as const;
    return spawnSync(process.execPath, [bin, ...argv, "--json"], given);
  };
  const recorded = COMMANDS.map(([command, ...more]): Recorded => {
    const argv = [...command.split(" "), ...more];
    const { status, stdout, stderr } = run(argv);
    if (stdout === "") throw new Error(`quotekeeper ${argv.join(" ")} printed no JSON but: ${stderr}`);
    const output = JSON.parse(told(stdout), (name, value: unknown) =>
      command.startsWith("serve keys") && SECRETS.test(name) ? "not-recorded" : value,
    ) as unknown;
    return { command, argv, exitCode: status ?? 1, output };
  });
  const { status, stderr } = run(["status"], { QUOTES_LIMIT: "many" });
  const output = JSON.parse(told(stderr.trimEnd().split("\n").at(-1) ?? "")) as unknown;
  return [...recorded, { command: "error", argv: ["status"], exitCode: status ?? 1, output }];
}
