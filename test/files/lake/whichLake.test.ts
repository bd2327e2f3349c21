/** An archive has one lake: another directory in its place, or one without the files of dropped quotes, is found out. */
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { rowsOfQuery } from "../../support/archive.ts";
import { handOnDatabases } from "../../support/database.ts";
import {
  ALL,
  lakeOf,
  lateQuote,
  old,
  refused,
  MARCH,
  seeMarch,
  unmount,
  copyOf,
  withoutId,
  forgetLake,
  emptyOfQuotes,
  counted,
  lakeStatus,
  quotesDropped,
  countOf,
} from "./lakeWorld.ts";

// Many commands run one after the other, which takes as long as the machine is slow.
jest.setTimeout(300_000);

handOnDatabases();

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
