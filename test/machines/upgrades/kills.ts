/** kill -9 of `migrate` in the midst of each migration and text. */
import { createHash } from "node:crypto";
import pg from "pg";
import { launch, must, promised, type Running } from "../programs.ts";
import { ask, versionOf } from "./archives.ts";
import { given, type Release } from "./earlier.ts";

const LOCK = 560_002;

/**
 * Holds a migration up between its last statement and its commit, and a text of views and functions behind its first
 * statement. In a schema of its own: the archive's is what `migrate` makes it.
 */
const HOLD = [
  "create schema held",
  "create table held.now (name text)",
  `create function held.migration() returns trigger language plpgsql as $$ begin
     if new.name in (select name from held.now) then perform pg_advisory_xact_lock(${LOCK}); end if;
     return new;
   end $$`,
  "create trigger held before insert on public.schema_migrations for each row execute function held.migration()",
  `create function held.text() returns event_trigger language plpgsql as $$ begin
     if md5(current_query()) in (select name from held.now) then perform pg_advisory_xact_lock(${LOCK}); end if;
   end $$`,
  "create event trigger held on ddl_command_end execute function held.text()",
];

const LET_GO = [
  "drop event trigger held",
  "drop trigger held on public.schema_migrations",
  "drop schema held cascade",
];

const WAITING = `select pid from pg_stat_activity where wait_event_type = 'Lock' and wait_event = 'advisory' and datname = current_database()`;

/**
 * Kills `migrate` at each of its scripts, which are in the order of their application; every second time its connection is ended as well,
 * else the server finds out by itself.
 *
 * @returns how many kills
 */
export async function killEach(release: Release, dataDir: string, url: string): Promise<number> {
  const at = await versionOf(url);
  const migrations = release.migrations.filter(({ name }) => Number(name.slice(0, 4)) > at);
  const points = [
    ...migrations.map(({ name }) => ({ name, hold: name })),
    ...release.texts.map(({ name, sql }) => ({ name, hold: createHash("md5").update(sql).digest("hex") })),
  ];
  const keeper = new pg.Client({ connectionString: url });
  await keeper.connect();
  try {
    for (const statement of HOLD) await keeper.query(statement);
    for (const [place, { name, hold }] of points.entries()) {
      await keeper.query("select pg_advisory_lock($1)", [LOCK]);
      await keeper.query("truncate held.now");
      await keeper.query("insert into held.now values ($1)", [hold]);
      await killAt(
        launch(process.execPath, [release.bin, "migrate"], given(dataDir, url)),
        url,
        place % 2 === 1,
      );
      await keeper.query("select pg_advisory_unlock($1)", [LOCK]);
      const before = migrations[Math.min(place, migrations.length) - 1]?.name.slice(0, 4) ?? at;
      await expectUndone(url, { name, before: Number(before) });
    }
    for (const statement of LET_GO) await keeper.query(statement);
  } finally {
    await keeper.end();
  }
  await must(process.execPath, [release.bin, "migrate"], given(dataDir, url));
  return points.length;
}

async function killAt(program: Running, url: string, ends: boolean): Promise<void> {
  for (;;) {
    const [waiting] = await ask(url, WAITING);
    if (waiting !== undefined) {
      program.child.kill("SIGKILL");
      await program.closed;
      if (ends) await ask(url, "select pg_terminate_backend($1::int)", [waiting["pid"]]);
      return;
    }
    promised(program.child.exitCode === null, "migrate is held up", program.text());
  }
}

/** The script that was under way has left nothing; those before it stay. */
async function expectUndone(url: string, { name, before }: { name: string; before: number }): Promise<void> {
  for (let waiting = true; waiting;) waiting = (await ask(url, WAITING)).length > 0;
  promised(
    (await versionOf(url)) === before,
    `version ${before} after a kill at ${name}`,
    await versionOf(url),
  );
  const [texts] = await ask(url, "select to_regclass('schema_texts')::text as there");
  promised(texts?.["there"] === null, `no text in force after a kill at ${name}`, texts);
}
