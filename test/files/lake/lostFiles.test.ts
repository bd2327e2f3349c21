/** Files of a lake that are gone, or were never finished: what each command says of them. */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { run } from "../../cli/edges.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { handOnDatabases } from "../../support/database.ts";
import { see } from "../../support/observations.ts";
import { tempDir } from "../../support/tempDir.ts";
import {
  dayOf,
  late,
  old,
  refused,
  seeMarch,
  copyOf,
  sqlOf,
  COUNT,
  counted,
  lakeStatus,
  quotesDropped,
} from "./lakeWorld.ts";

// Many commands run one after the other, which takes as long as the machine is slow.
jest.setTimeout(300_000);

handOnDatabases();

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
