/** JIT is off in the archive's database, as far as the user of `migrate` may set it and nobody else has set it. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { run } from "../cli/edges.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { makeServerDir, openOwnServer, type OwnServer } from "../support/postgres/server.ts";
import { tempDir } from "../support/tempDir.ts";

// A server of its own: settings of roles are the server's.
const serverDir = makeServerDir();
let server: OwnServer;
let admin: pg.Pool;
/** Whether the server has LLVM, without which there is nothing to tell. */
let hasJit = false;
beforeAll(async () => {
  server = await openOwnServer(serverDir);
  admin = createPool(server.url);
  const hba = join(serverDir, "postgres", "pg_hba.conf");
  writeFileSync(hba, `host all keeper 127.0.0.1/32 trust\n${readFileSync(hba, "utf8")}`);
  await admin.query("select pg_reload_conf()");
  await admin.query(
    "drop owned by quotekeeper_reader; drop role quotekeeper_reader; create role keeper login",
  );
  [{ hasJit }] = (await withJit('select pg_jit_available() as "hasJit"')) as [{ hasJit: boolean }];
}, 120_000);
afterAll(async () => {
  await admin.end();
  await server.close();
  rmSync(serverDir, { recursive: true, force: true, maxRetries: 10 });
});

/** Asks in a session that says nothing of jit. */
async function withJit(query: string, url = server.url): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<object>(query)).rows;
  } finally {
    await client.end();
  }
}

let count = 0;

/** A database, and what migrate says and leaves when it runs as `keeper` after these statements; %D is the database. */
async function migrated({ isOwner = true, before = [] as string[] }) {
  const name = `jit_${++count}`;
  await admin.query(`create database ${name} ${isOwner ? "owner keeper" : ""}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const own = createPool(url.href);
  await own.query("grant create on schema public to keeper");
  await own.end();
  for (const statement of before) await admin.query(statement.replace("%D", name));
  url.username = "keeper";
  url.password = "";
  const env = { DATABASE_URL: url.href, QUOTEKEEPER_DATA_DIR: tempDir(), QUOTEKEEPER_JOBS_DIR: tempDir() };
  const [first, second] = [await run(["migrate"], env), await run(["migrate"], env)];
  const settings = await rowsOfQuery(
    admin,
    `select coalesce(r.rolname, 'all') as role, d.datname is not null as "isHere", c as setting
     from pg_db_role_setting s
     cross join unnest(s.setconfig) c
     left join pg_roles r on r.oid = s.setrole
     left join pg_database d on d.oid = s.setdatabase and d.datname = $1
     where c like 'jit=%' and (s.setdatabase = 0 or d.datname is not null)
     order by 1`,
    [name],
  );
  await admin.query(
    `alter role keeper reset jit; alter role all reset jit; do $$ begin alter role quotekeeper_reader reset jit; exception when undefined_object then null; end $$`,
  );
  return {
    name,
    url: url.href,
    exitCodes: [first.exitCode, second.exitCode],
    told: [first, second].map(remedyIn),
    settings,
  };
}

const remedyIn = ({ stderr }: { stderr: string }): string | undefined =>
  /JIT is on .* have an administrator run `([^`]*)`/u.exec(stderr)?.[1];

test("the owner of a database sets it for the database, and each new session has it", async () => {
  const { url, settings, exitCodes, told } = await migrated({});

  expect({ settings, exitCodes, told }).toEqual({
    settings: [{ role: "all", isHere: true, setting: "jit=off" }],
    exitCodes: [0, 0],
    told: [undefined, undefined],
  });
  expect(await withJit("show jit", url)).toEqual([{ jit: "off" }]);
});

test.each([
  ["the database", "alter database %D set jit = on", { role: "all", isHere: true, setting: "jit=on" }],
  ["all roles", "alter role all set jit = on", { role: "all", isHere: false, setting: "jit=on" }],
])("a value that somebody set for %s stays", async (_, statement, setting) => {
  expect(await migrated({ before: [statement] })).toMatchObject({
    settings: [setting],
    exitCodes: [0, 0],
    told: [undefined, undefined],
  });
});

test("a value in the server's own configuration stays", async () => {
  await admin.query("alter system set jit = on");
  await admin.query("select pg_reload_conf()");
  while (
    ((await withJit("select source from pg_settings where name = 'jit'")) as [{ source: string }])[0]
      .source === "default"
  );

  const found = await migrated({});
  await admin.query("alter system reset jit");
  await admin.query("select pg_reload_conf()");
  while (
    ((await withJit("select source from pg_settings where name = 'jit'")) as [{ source: string }])[0]
      .source !== "default"
  );

  expect(found).toMatchObject({ settings: [], exitCodes: [0, 0] });
});

test("who does not own the database sets it for the own role there, and says what an administrator can do for the reader", async () => {
  await admin.query("create role quotekeeper_reader");

  const { name, settings, exitCodes, told } = await migrated({ isOwner: false });
  const before = ["alter role keeper set jit = on", "alter role quotekeeper_reader set jit = on"];
  const set = await migrated({ isOwner: false, before });
  await admin.query("alter role keeper createrole");
  const mayMake = await migrated({ isOwner: false });

  const remedy = hasJit ? `alter database ${name} set jit = off` : undefined;
  expect({ settings, exitCodes, told }).toEqual({
    settings: [{ role: "keeper", isHere: true, setting: "jit=off" }],
    exitCodes: [0, 0],
    told: [remedy, remedy],
  });
  expect(set).toMatchObject({
    settings: [
      { role: "keeper", isHere: false, setting: "jit=on" },
      { role: "quotekeeper_reader", isHere: false, setting: "jit=on" },
    ],
    exitCodes: [0, 0],
    told: [undefined, undefined],
  });
  expect(mayMake.exitCodes).toEqual([0, 0]);
  expect(mayMake.settings).toContainEqual({ role: "keeper", isHere: true, setting: "jit=off" });
});
