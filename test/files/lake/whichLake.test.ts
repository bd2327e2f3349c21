/** An archive has one lake: another directory in its place, or one without the files of dropped quotes, is found out. */
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { run } from "../../cli/edges.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { handOnDatabases } from "../../support/database.ts";
import { see } from "../../support/observations.ts";
import { tempDir } from "../../support/tempDir.ts";
import { ALL, dayOf, lakeOf, late, lateQuote, old, refused, type World } from "./lakeWorld.ts";

// Many commands run one after the other, which takes as long as the machine is slow.
jest.setTimeout(300_000);

handOnDatabases();

const MARCH = ["2026-03-02", "2026-03-09"];

/** Quotes of March, which come after all others. */
async function seeMarch({ pool }: World): Promise<void> {
  await see(
    pool,
    ...MARCH.map((date) => ({ at: `${date} 10:00`, bid: "1.5", ask: "1.6", last: "1.55", volume: "7" })),
  );
}

/** Takes the lake's disk away; gives back how it is mounted again. What was written meanwhile lies beside it then. */
function unmount({ out }: World): () => string {
  renameSync(out, `${out}.disk`);
  mkdirSync(out);
  return () => {
    renameSync(out, `${out}.bare`);
    renameSync(`${out}.disk`, out);
    return `${out}.bare`;
  };
}

/** A copy of a lake in another directory. */
function copyOf({ out }: World): string {
  const copy = join(tempDir(), "copy");
  cpSync(out, copy, { recursive: true });
  return copy;
}

/** Takes the id out of a lake, as an earlier program wrote it. */
function withoutId(out: string): void {
  const path = join(out, "lake.json");
  const manifest = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  delete manifest["id"];
  writeFileSync(path, JSON.stringify(manifest));
}

/** Has the archive know of its lake what an earlier program noted. */
async function forgetLake({ pool }: World): Promise<void> {
  await pool.query("delete from archive_lake");
  await pool.query("update dropped_days set files = null");
}

/** Leaves a date's manifest in a lake and takes its quotes away, as a second lake has it. */
function emptyOfQuotes(out: string, date: string): void {
  const day = dayOf(out, date);
  writeFileSync(
    join(out, `days/${date}.json`),
    JSON.stringify({ ...day, tables: day.tables.filter(({ name }) => !name.endsWith("quotes")) }),
  );
  for (const table of ["quotes", "extended_quotes"])
    rmSync(join(out, table, `date=${date}`), { recursive: true });
}

async function sqlOf({ url }: World, statement: string, ...words: string[]) {
  return run(["sql", "--csv", ...words, statement], { DATABASE_URL: url });
}

const COUNT = "select count(*) as n from quotes";

/** How many quotes `sql` sees in an archive and a lake of it. */
const counted = (world: World, lake = world.out) => sqlOf(world, COUNT, "--lake", lake);

/** The line of `status` on the lake. */
async function lakeStatus({ url, out }: World, env: Record<string, string> = {}) {
  const { stdout } = await run(["status", "--json"], {
    ...{ DATABASE_URL: url, QUOTEKEEPER_LAKE_DIR: out, QUOTEKEEPER_DATA_DIR: tempDir(), ...env },
  });
  const { lines } = JSON.parse(stdout) as { lines: { subject: string; state: string; text: string }[] };
  return lines.find(({ subject }) => subject === "lake");
}

/** How many quotes a run dropped. */
function quotesDropped(report: Record<string, unknown>): number {
  return (report["dropped"] as { quotes: number }[]).reduce((sum, { quotes }) => sum + quotes, 0);
}

async function countOf({ pool }: World, table: string): Promise<number> {
  return (await pool.query(`select from ${table}`)).rowCount ?? 0;
}

describe("while the lake's disk is not mounted", () => {
  test("no other lake is begun and no quotes are dropped, and afterwards the lake goes on with all of them", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    const mount = unmount(world);
    await seeMarch(world);

    const away = await world.lake("--drop-hot");
    const asked = await counted(world);
    const status = await lakeStatus(world);
    const restored = await world.lake("restore --from 2026-01-01 --to 2026-12-31");
    const bare = mount();
    const left = await countOf(world, "quotes");
    const again = await world.lake("--drop-hot");

    expect(away).toEqual(
      refused(/"LAKE_MISSING".*quotes of 4 dates from 2026-01-05 to 2026-02-02 were dropped/su),
    );
    expect(asked).toEqual(refused("LAKE_MISSING"));
    expect(status).toMatchObject({
      state: "attention",
      text: expect.stringContaining("LAKE_MISSING") as unknown,
    });
    expect(restored).toEqual(refused("LAKE_MISSING"));
    expect([readdirSync(bare), left]).toEqual([[], 2]);
    expect([again.exitCode, again.json["written"], quotesDropped(again.json)]).toEqual([0, MARCH, 2]);
    expect((await counted(world)).stdout).toBe("n\n26\n");
    expect((await world.lake("verify")).json).toMatchObject({ dates: 6, faults: [] });
  });

  test("no other lake is begun before the first quotes are dropped either, unless that is wanted", async () => {
    const world = await old();
    await world.lake();
    const mount = unmount(world);

    const away = await world.lake("--drop-hot");
    const written = readdirSync(world.out);
    const anew = await world.lake("--anew");
    const second = mount();
    const former = await world.lake("--drop-hot");
    const back = await world.lake("--anew --drop-hot");
    const other = await lakeOf(world, second).lake("--anew");

    expect(away).toEqual(refused("holds no lake, and this archive has one already"));
    expect(written).toEqual([]);
    expect(anew).toMatchObject({ exitCode: 0, json: { through: "2026-02-02" } });
    expect(former).toEqual(refused("is another lake of this archive"));
    expect([back.exitCode, quotesDropped(back.json)]).toEqual([0, 24]);
    // The other has all files of the dropped quotes, and so may take the lake's place.
    expect(other).toMatchObject({ exitCode: 0, json: { missing: [] } });
  });

  test("a lake is not begun anew in place of one that alone has quotes", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    unmount(world);

    const anew = await world.lake("--anew");

    expect(anew).toEqual(refused("LAKE_MISSING"));
    expect(await countOf(world, "dropped_days")).toBe(4);
  });
});

describe("of two lakes of one archive", () => {
  test("the one that it does not know is not written to, and lacks no late row without a word", async () => {
    const world = await old();
    await world.lake();
    const second = lakeOf(world);
    await second.lake("--anew --drop-hot");
    await lateQuote(world);

    const first = await world.lake();
    const read = await counted(world);
    const verified = await world.lake("verify");
    const known = await second.lake("--drop-hot");

    expect(first).toEqual(refused("is another lake of this archive"));
    expect(read).toEqual(refused("LAKE_MISSING"));
    expect(verified).toMatchObject({ exitCode: 1, json: { faults: [{ path: "lake.json" }] } });
    expect(known).toMatchObject({ exitCode: 0, json: { rewritten: ["2026-01-12"] } });
    expect((await counted(world, second.out)).stdout).toBe("n\n25\n");
  });

  test("an earlier program's is not written to once the archive knows the other", async () => {
    const world = await old();
    await world.lake();
    const before = copyOf(world);
    withoutId(before);

    const written = await lakeOf(world, before).lake();
    const read = await counted(world, before);

    expect(written).toEqual(refused("is another lake of this archive (without an id"));
    expect([read.exitCode, read.stdout]).toEqual([0, "n\n24\n"]);
  });
});

describe("a copy of the lake", () => {
  test("is read, verified and restored from, also one that has no id yet", async () => {
    const world = await old();
    const rows = await rowsOfQuery(world.pool, ALL);
    await world.lake("--drop-hot");
    const copy = lakeOf(world, copyOf(world));
    const earlier = lakeOf(world, copyOf(world));
    withoutId(earlier.out);
    rmSync(world.out, { recursive: true });

    const read = await counted(world, copy.out);
    const verified = await copy.lake("verify");
    const restored = await copy.lake("restore --from 2026-01-01 --to 2026-01-31");
    const rest = await earlier.lake("restore --from 2026-02-01 --to 2026-12-31");

    expect([read.exitCode, read.stdout]).toEqual([0, "n\n24\n"]);
    expect(verified).toMatchObject({ exitCode: 0, json: { faults: [] } });
    expect(restored).toMatchObject({ exitCode: 0, json: { rows: { quotes: 18 }, missing: [] } });
    expect(rest).toMatchObject({ exitCode: 0, json: { rows: { quotes: 6 }, missing: [] } });
    expect(await rowsOfQuery(world.pool, ALL)).toEqual(rows);
  });

  test("that is older than what was dropped last is said not to have it", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    const copy = lakeOf(world, copyOf(world));
    await lateQuote(world);
    await world.lake("--drop-hot");

    const written = await copy.lake();
    const verified = await copy.lake("verify");
    const read = await counted(world, copy.out);
    const restored = await copy.lake("restore --from 2026-01-05 --to 2026-01-12");
    const status = await lakeStatus(copy);

    expect(written).toMatchObject({ exitCode: 1, json: { missing: ["2026-01-12"], rewritten: [] } });
    expect(verified).toMatchObject({ exitCode: 1, json: { faults: [{ path: "days/2026-01-12.json" }] } });
    expect(read).toEqual(refused("quotes of 2026-01-12 were dropped"));
    expect(restored).toMatchObject({ exitCode: 1, json: { dates: ["2026-01-05"], missing: ["2026-01-12"] } });
    expect(status).toMatchObject({ state: "attention" });
  });

  test("is right where it is younger than a database that was brought back from a copy of its own", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    const { rows: known } = await world.pool.query("select * from dropped_days where date = '2026-01-12'");
    await lateQuote(world);
    await world.lake("--drop-hot");
    const [day] = known as { files: unknown }[];
    await world.pool.query("update dropped_days set files = $1 where date = '2026-01-12'", [
      JSON.stringify(day?.files),
    ]);

    expect(await world.lake()).toMatchObject({ exitCode: 0, json: { missing: [] } });
    expect(await lakeStatus(world)).toMatchObject({ state: "ok" });
    expect((await counted(world)).stdout).toBe("n\n25\n");
  });
});

describe("a date whose quotes were dropped, and whose file is gone,", () => {
  test("is told by lake, verify, restore, sql and status; other dates are read and brought back, and none is forgotten", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    rmSync(join(world.out, "quotes/date=2026-01-12"), { recursive: true });

    const written = await world.lake();
    const verified = await world.lake("verify");
    const read = await counted(world);
    const rest = await Promise.all(
      [
        "latest_quotes where symbol = 'AAPL'",
        "quotes where observed_at >= '2026-01-31T05:00:00Z'",
        "bars_1d",
      ].map((from) => sqlOf(world, `select count(*) as n from ${from}`, "--lake", world.out)),
    );
    const status = await lakeStatus(world);
    const restored = await world.lake("restore --from 2026-01-01 --to 2026-12-31");

    expect(written).toMatchObject({ exitCode: 1, json: { missing: ["2026-01-12"] } });
    expect(verified).toMatchObject({
      exitCode: 1,
      json: {
        faults: [{ path: "quotes/date=2026-01-12/quotes.parquet" }, { path: "days/2026-01-12.json" }],
      },
    });
    expect(read).toEqual(refused(/^LAKE_MISSING: quotes of 2026-01-12 were dropped/u));
    expect(rest.map(({ stdout }) => stdout)).toEqual(["n\n1\n", "n\n12\n", "n\n8\n"]);
    expect(status).toMatchObject({
      state: "attention",
      text: expect.stringContaining("quotes of 2026-01-12 were dropped") as unknown,
    });
    expect(restored).toMatchObject({
      exitCode: 1,
      json: { dates: ["2026-01-05", "2026-01-31", "2026-02-02"], missing: ["2026-01-12"] },
    });
    expect(await rowsOfQuery(world.pool, "select date::text from dropped_days")).toEqual([
      { date: "2026-01-12" },
    ]);
  });

  test("is told of newest quotes and where no lake is named, too", async () => {
    const world = await old();
    await world.lake("--drop-hot");

    const unnamed = await sqlOf(world, COUNT);
    const newest = await sqlOf(world, "select count(*) as n from latest_quotes");
    const bars = await sqlOf(world, "select count(*) as n from bars_1d");
    rmSync(join(world.out, "days/2026-02-02.json"));
    const lost = await sqlOf(world, "select count(*) as n from latest_quotes", "--lake", world.out);

    expect(unnamed).toEqual(refused("and no lake is named"));
    expect(newest).toEqual(refused("LAKE_MISSING"));
    expect([bars.exitCode, bars.stdout]).toEqual([0, "n\n8\n"]);
    expect(lost).toEqual(refused("LAKE_MISSING"));
  });

  test("gets no manifest that says it had none, and is whole again when its files are brought from a copy", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    const copy = copyOf(world);
    rmSync(join(world.out, "days/2026-02-02.json"));

    const without = await world.lake();
    const names = readdirSync(join(world.out, "days"));
    cpSync(copy, world.out, { recursive: true });
    const again = await world.lake();

    expect(without).toMatchObject({ exitCode: 1, json: { missing: ["2026-02-02"], written: [] } });
    expect(names).not.toContain("2026-02-02.json");
    expect(again).toMatchObject({ exitCode: 0, json: { missing: [] } });
    expect(await lakeStatus(world)).toMatchObject({ state: "ok" });
  });
});

test("dropped quotes that are back in the database are written to the lake once the operator says that they are", async () => {
  const world = await old();
  await world.lake("--drop-hot");
  for (const part of ["days/2026-01-12.json", "quotes/date=2026-01-12"])
    rmSync(join(world.out, part), { recursive: true });
  // As a rebuild from the journal brings them.
  await see(world.pool, { at: "2026-01-12 09:00", id: 2, bid: "1.5", ask: "1.6", last: "1.55" });
  await late(world.pool, "2026-01-12");

  const before = await world.lake();
  await world.pool.query("delete from dropped_days where date = '2026-01-12'");
  const after = await world.lake("--drop-hot");

  expect(before).toMatchObject({ exitCode: 1, json: { missing: ["2026-01-12"], written: [] } });
  expect(after).toMatchObject({ exitCode: 0, json: { missing: [], written: ["2026-01-12"] } });
  expect(quotesDropped(after.json)).toBe(1);
});

describe("a lake of an earlier program", () => {
  test("becomes the archive's, which knows from then on which files it dropped quotes behind", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    const files = await rowsOfQuery(world.pool, "select files from dropped_days order by date");
    withoutId(world.out);
    await forgetLake(world);

    const read = await counted(world);
    const status = await lakeStatus(world);
    const written = await world.lake();

    expect([read.exitCode, read.stdout, status?.state]).toEqual([0, "n\n24\n", "ok"]);
    expect(written).toMatchObject({ exitCode: 0, json: { missing: [], files: 0 } });
    expect(await rowsOfQuery(world.pool, "select files from dropped_days order by date")).toEqual(files);
    const { id } = JSON.parse(readFileSync(join(world.out, "lake.json"), "utf8")) as { id: string };
    expect(await rowsOfQuery(world.pool, "select id from archive_lake")).toEqual([{ id }]);
  });

  test("that lacks dropped quotes does not, and is told; with the files of both, it does", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    const second = copyOf(world);
    for (const date of ["2026-01-31", "2026-02-02"]) emptyOfQuotes(world.out, date);
    for (const date of ["2026-01-05", "2026-01-12"]) emptyOfQuotes(second, date);
    withoutId(world.out);
    withoutId(second);
    await forgetLake(world);

    const asked = [
      await world.lake(),
      await counted(world),
      await lakeOf(world, second).lake("--drop-hot"),
      // An empty directory.
      await lakeOf(world).lake("--drop-hot"),
    ];
    const restored = await world.lake("restore --from 2026-01-12 --to 2026-01-31");
    const status = await lakeStatus(world);
    const known = await countOf(world, "archive_lake");
    for (const date of ["2026-01-31", "2026-02-02"])
      for (const part of [`days/${date}.json`, `quotes/date=${date}`, `extended_quotes/date=${date}`])
        cpSync(join(second, part), join(world.out, part), { recursive: true });
    const whole = await world.lake();

    expect(asked.map(({ exitCode }) => exitCode)).toEqual([1, 1, 1, 1]);
    expect(asked[0]).toEqual(refused("quotes of 2 dates from 2026-01-31 to 2026-02-02 were dropped"));
    expect(asked[3]).toEqual(refused("LAKE_MISSING"));
    expect(restored).toMatchObject({ exitCode: 1, json: { dates: ["2026-01-12"], missing: ["2026-01-31"] } });
    expect([status?.state, known]).toEqual(["attention", 0]);
    expect(whole).toMatchObject({ exitCode: 0, json: { missing: [] } });
    expect((await counted(world)).stdout).toBe("n\n24\n");
  });
});

describe("a lake that was killed", () => {
  test("before the archive knew it is the archive's at the next run", async () => {
    const world = await old();
    await world.lake();
    await world.pool.query("delete from archive_lake");

    const again = await world.lake();

    const { id } = JSON.parse(readFileSync(join(world.out, "lake.json"), "utf8")) as { id: string };
    expect(again.exitCode).toBe(0);
    expect(await rowsOfQuery(world.pool, "select id from archive_lake")).toEqual([{ id }]);
  });

  test("between two files has no fault: verify names the date, and the next run goes on", async () => {
    const world = await old();
    await world.lake();
    const path = join(world.out, "lake.json");
    const whole = JSON.parse(readFileSync(path, "utf8")) as { tables: { name: string; path: string }[] };
    await world.pool.query("update instruments set description = 'changed' where id = 1");
    await seeMarch(world);
    await world.lake();
    const after = JSON.parse(readFileSync(path, "utf8")) as typeof whole;
    const instruments = after.tables.filter(({ name }) => name === "instruments");
    // As it stands when the files without a date are put there, and not named alone yet.
    writeFileSync(path, JSON.stringify({ ...after, tables: whole.tables, replacing: instruments }));
    const day = dayOf(world.out, "2026-03-09");
    writeFileSync(join(world.out, "days/2026-03-09.json"), JSON.stringify({ ...day, complete: false }));

    const verified = await world.lake("verify");
    const next = await world.lake();

    expect(verified).toMatchObject({ exitCode: 0, json: { unfinished: ["2026-03-09"], faults: [] } });
    expect(next.exitCode).toBe(0);
    expect((await world.lake("verify")).json).toMatchObject({ unfinished: [], faults: [] });
  });
});

describe("verify", () => {
  test("reads a copy where there is no database, and says that none was asked", async () => {
    const world = await old();
    await world.lake("--drop-hot");
    rmSync(join(world.out, "days/2026-02-02.json"));

    const { exitCode, stdout, stderr } = await run(["lake", "verify", "--out", world.out], {
      QUOTEKEEPER_DATA_DIR: tempDir(),
    });

    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("3 dates")]);
    expect(stderr).toContain("The database is not asked whether it has dropped other quotes");
  });
});

describe("status", () => {
  test("tells how far a lake goes that was written by hand", async () => {
    const world = await old();
    const before = await lakeStatus(world);
    await world.lake();

    expect(before).toMatchObject({ state: "idle", text: "nothing is written yet" });
    expect(await lakeStatus(world)).toMatchObject({ state: "ok", text: "all days through 2026-02-02" });
    expect(
      await lakeStatus(world, { DATABASE_URL: "postgresql://nobody@127.0.0.1:1/nothing" }),
    ).toMatchObject({
      state: "ok",
      text: "all days through 2026-02-02",
    });
  });

  test("tells no failure of a former run once the lake was written by hand", async () => {
    const world = await old();
    const env = { DATABASE_URL: world.url, QUOTEKEEPER_LAKE_DIR: world.out, QUOTEKEEPER_DATA_DIR: tempDir() };
    writeFileSync(
      join(env.QUOTEKEEPER_DATA_DIR, "lake-state.json"),
      JSON.stringify({
        ...{ at: "2026-11-20T10:00:00.000Z", through: null, kept: [] },
        failed: { since: "2026-11-20T09:00:00.000Z", message: "LAKE_WRITE_FAILED: EIO" },
      }),
    );
    const failed = await lakeStatus(world, env);
    await run(["lake"], env);

    expect(failed).toMatchObject({ state: "attention" });
    expect(await lakeStatus(world, env)).toMatchObject({ state: "ok" });
  });
});
