/** Contracts of one underlying, expiration, type and strike that have different roots: every door tells them apart. */
import { readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { findInstruments } from "../../../src/archive/ask/findInstruments.ts";
import { readChain, readChainKeys } from "../../../src/archive/ask/chainRows.ts";
import { readQuotes } from "../../../src/archive/ask/quotes.ts";
import { run } from "../../cli/edges.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { handOnDatabases } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { type BackfillWorld, backfillWorld } from "../world.ts";

handOnDatabases();

const CSV = `symbol,root,expiration,option_type,strike,observed_at,bid,ask
SPX,SPX,2026-12-18,CALL,6000,2026-11-18T20:45Z,51.5,52.5
SPX,SPXW,2026-12-18,CALL,6000,2026-11-18T20:45Z,53.5,54.5
AAPL,AAPL,2026-12-18,CALL,160,2026-11-18T20:45Z,3.05,3.15
AAPL,AAPL1,2026-12-18,CALL,160,2026-11-18T20:45Z,1.45,1.95
`;

const NAMES = [
  "AAPL/AAPL1:2026-12-18:CALL:160",
  "AAPL:2026-12-18:CALL:160",
  "SPX/SPXW:2026-12-18:CALL:6000",
  "SPX:2026-12-18:CALL:6000",
];

const STORED = `select instrument_name(i.symbol, i.expiration, i.option_type, i.strike, i.root) as name, q.bid
  from quotes q join instruments i on i.id = q.instrument_id order by 1`;

async function imported(
  csv = CSV,
): Promise<{ world: BackfillWorld; outcome: Awaited<ReturnType<typeof run>> }> {
  const dir = tempDir();
  writeFileSync(join(dir, "options.csv"), csv);
  const world = await backfillWorld();
  const outcome = await run(
    ["backfill", "--csv", join(dir, "options.csv"), "--name", "vendor", "--json"],
    world.env,
  );
  return { world, outcome };
}

test("four contracts of a file with a column of roots are four instruments, and none is set aside", async () => {
  const { world, outcome } = await imported();

  expect(outcome).toMatchObject({ exitCode: 0 });
  expect(await rowsOfQuery(world.pool, STORED)).toEqual(
    ["1.45", "3.05", "53.5", "51.5"].map((bid, place) => ({ name: NAMES[place], bid })),
  );
  expect(await rowsOfQuery(world.pool, "select detail from dead_letters")).toEqual([]);
});

test("SQL finds each by its name, and a chain has a row for each root", async () => {
  const { world } = await imported();

  expect(
    await rowsOfQuery(world.pool, "select instrument, bid from asof('2026-11-19', $1) order by 1", [
      [NAMES[2], NAMES[3]],
    ]),
  ).toEqual([
    { instrument: NAMES[2], bid: "53.5" },
    { instrument: NAMES[3], bid: "51.5" },
  ]);
  expect(await rowsOfQuery(world.pool, "select root from instruments_named($1)", [NAMES[2]])).toEqual([
    { root: "SPXW" },
  ]);
  await world.pool.query("set quotekeeper.as_of = '2026-11-19'");
  expect(
    await rowsOfQuery(
      world.pool,
      "select root, call_bid from option_chain_latest where underlying = 'SPX' order by 1",
    ),
  ).toEqual([
    { root: "SPXW", call_bid: "53.5" },
    { root: null, call_bid: "51.5" },
  ]);
});

test("the dashboard has a chain for each root, and finds contracts by it", async () => {
  const { world } = await imported();

  const keys = await readChainKeys(world.pool);
  const [key] = keys.filter(({ symbol }) => symbol === "SPX/SPXW");
  const chain = await readChain(world.pool, {
    ...{
      symbol: "SPX/SPXW",
      expiration: "2026-12-18",
      sourceId: key?.sourceId ?? 0,
      delayed: false,
      at: null,
    },
  });

  expect(keys.map(({ symbol, contracts }) => [symbol, contracts])).toEqual([
    ["AAPL", 1],
    ["AAPL/AAPL1", 1],
    ["SPX", 1],
    ["SPX/SPXW", 1],
  ]);
  expect(chain.contracts).toMatchObject([{ instrument: NAMES[2], bid: "53.5" }]);
  expect(await findInstruments(world.pool, "spxw 2026-12")).toEqual({
    instruments: [{ instrument: NAMES[2], description: null }],
    total: 1,
  });
  expect(await readQuotes(world.pool, { names: [NAMES[0] ?? ""] })).toMatchObject([
    { instrument: NAMES[0], bid: "1.45" },
  ]);
});

test.each(["csv", "parquet"])("an export in %s names them, and gives them back", async (format) => {
  const { world } = await imported();
  const out = join(tempDir(), "out");
  await run(["export", "--format", format, "--out", out], world.env);
  const other = await backfillWorld();

  const outcome = await run(["backfill", `--${format}`, out, "--json"], other.env);

  expect(outcome).toMatchObject({ exitCode: 0 });
  expect(await rowsOfQuery(other.pool, STORED)).toEqual(await rowsOfQuery(world.pool, STORED));
  if (format === "csv")
    expect(readFileSync(join(out, "quotes/date=2026-11-18/quotes.csv"), "utf8")).toContain(`,${NAMES[2]},`);
});

test("an export of a version without roots is taken back, and its contracts are those of the underlying", async () => {
  const { world } = await imported(CSV.replace(/.*,(SPXW|AAPL1),.*\n/g, ""));
  const old = join(tempDir(), "out");
  await run(["export", "--format", "csv", "--out", old], world.env);
  const path = join(old, "instruments/instruments.csv");
  const rows = readFileSync(path, "utf8").split("\r\n");
  const added = /^(root|exchange_at|description_at|contract_size_at)$/;
  const kept = (rows[0] ?? "").split(",").flatMap((name, place) => (added.test(name) ? [] : [place]));
  writeFileSync(
    path,
    rows.map((row) => (row === "" ? "" : kept.map((place) => row.split(",")[place]).join(","))).join("\r\n"),
  );
  signAgain(old);
  const other = await backfillWorld();

  const outcome = await run(["backfill", "--csv", old, "--json"], other.env);

  expect(outcome).toMatchObject({ exitCode: 0 });
  expect(await rowsOfQuery(other.pool, STORED)).toEqual([
    { name: NAMES[1], bid: "3.05" },
    { name: NAMES[3], bid: "51.5" },
  ]);
});

/** Writes into a manifest what its files are now. */
function signAgain(dir: string): void {
  const path = join(dir, "manifest.json");
  const manifest = JSON.parse(readFileSync(path, "utf8")) as {
    tables: { files: { path: string; bytes: number; sha256: string }[] }[];
  };
  for (const file of manifest.tables.flatMap(({ files }) => files)) {
    const content = readFileSync(join(dir, file.path));
    Object.assign(file, {
      bytes: content.length,
      sha256: createHash("sha256").update(content).digest("hex"),
    });
  }
  writeFileSync(path, JSON.stringify(manifest));
}
