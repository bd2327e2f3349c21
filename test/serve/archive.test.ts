import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import type pg from "pg";
import { runProgram } from "../../src/cli/program.ts";
import type { RecordSource } from "../../src/journal/record.ts";
import { instrumentName, option, security } from "../../src/market/instrument.ts";
import type { CollectedAnswer } from "../../src/collector/pipeline.ts";
import { keyOf } from "../../src/quotes/keyText.ts";
import { readDocument } from "../../src/services/reference/readDocument.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { writeDocument } from "../../src/services/reference/writeDocument.ts";
import { createArchiveSource } from "../../src/serve/archive/archiveSource.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { capturedEdges, run } from "../cli/edges.ts";
import { createTestClock } from "../support/clock.ts";
import { openCollecting } from "../support/collecting.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { handOnDatabases } from "../support/database.ts";
import { answerRecord, at } from "../support/journal.ts";
import { type LoadingWorld, loadingWorld } from "../support/loading.ts";
import { TEST_CREDENTIALS, accountAt } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

handOnDatabases();

const KEY = "test-consumer:test-consumer-secret:test-token:test-token-secret";
const CONTRACT = { underlying: "AAPL", expiration: "2026-12-18", optionType: "CALL", strike: "150" } as const;
const market = createSimulatedMarket({ seed: 9 });

const enders: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of enders.splice(0)) await end();
});

/** `serve --source archive` on a database, ended with the test. */
async function serving(url: string, clock = createTestClock(), ...flags: string[]) {
  const env = { DATABASE_URL: url, QUOTES_LIMIT: "1000", QUOTEKEEPER_DATA_DIR: tempDir() };
  const captured = capturedEdges({ clock, env });
  const argv = ["serve", "--source", "archive", "--port", "0", "--key", KEY, ...flags];
  const ended = runProgram(argv, captured.edges);
  enders.push(() => {
    captured.interrupt();
    return ended;
  });
  const refused = ended.then((code) => Promise.reject(new Error(`exit code ${code}: ${captured.stderr()}`)));
  refused.catch(() => undefined);
  const [, baseUrl = ""] = await Promise.race([captured.said(/^QUOTES_BASE_URL=(\S+)$/m), refused]);
  return { ...captured, baseUrl };
}

/** What a second quotekeeper gets from it, and its archive. */
async function collectingFrom(url: string, { clock = createTestClock(), flags = [] as string[] } = {}) {
  const { baseUrl, stdout } = await serving(url, clock, ...flags);
  const collecting = await openCollecting(clock, { baseUrl, credentials: TEST_CREDENTIALS });
  return { ...collecting, stdout };
}

const symbols = (...names: string[]): QuoteCall => ({ form: "symbols", symbols: names, delayed: false });
/** Whether the service knew each of the symbols of a collected answer. */
const known = ({ answer }: CollectedAnswer): Record<string, boolean> => {
  if (answer.outcome !== "quotes") throw new Error(answer.detail);
  return Object.fromEntries(
    answer.document.items.map((read) =>
      read.ok ? [instrumentName(keyOf(read.item)), !read.item.unknownSymbol] : [read.problem, false],
    ),
  );
};
const lasts = async (pool: pg.Pool) =>
  (await rowsOfQuery(pool, "select last from quotes order by observed_at")).map(({ last }) => last);

const NAME = "instrument_name(i.symbol, i.expiration, i.option_type, i.strike, i.root)";

/** The newest rows of every table, by instrument's name; times and numbers of instruments and sources left out. */
async function newestRows(pool: pg.Pool) {
  const rows = (table: string) =>
    rowsOfQuery(
      pool,
      `select distinct on (name) ${NAME} as name,
         to_jsonb(t) - 'observed_at' - 'instrument_id' - 'source_id' as row
       from ${table} t join instruments i on i.id = t.instrument_id order by name, observed_at desc`,
    );
  return {
    quotes: await rows("quotes"),
    extended: await rows("extended_quotes"),
    dividends: await rows("dividends"),
    instruments: await rowsOfQuery(
      pool,
      `select ${NAME} as name, i.security_type, i.exchange, i.description, i.contract_size, u.symbol as underlying
       from instruments i left join instruments u on u.id = i.underlying_id order by 1`,
    ),
  };
}

async function loadXml(
  world: LoadingWorld,
  seconds: number,
  xml: string,
  { delayed = false, source = { kind: "account", name: "account" } as RecordSource } = {},
) {
  const request: QuoteCall = { form: "watchlist", watchlist: "DEFAULT", delayed };
  await world.append(answerRecord(at(seconds), xml, { request, source }));
  await world.load();
}

const MRDN = { underlying: "MRDN", expiration: "2027-01-15", optionType: "CALL", strike: "120" } as const;

test("what one quotekeeper collected from the simulated market, a second one collects from its archive, field by field", async () => {
  const world = await loadingWorld();
  const contracts = [
    CONTRACT,
    { ...CONTRACT, optionType: "PUT" } as const,
    { underlying: "BRK.B", expiration: "2027-01-15", optionType: "CALL", strike: "480.5" } as const,
  ];
  const names = ["AAPL", "GE", "SIRI", "INTC", "NAN", "TRUE", "1E5", "007", "KO", "TSLA", "BRK.A", "MCD"];
  const instruments = [...contracts.map(option), ...names.map(security)].map((key) =>
    market.quote(key, new Date(at(0))),
  );
  await loadXml(world, 0, writeDocument({ id: "r", instruments }));

  const second = await collectingFrom(world.url, { flags: ["--as-of", at(0)] });
  for (const contract of contracts) await second.collect({ form: "option", contract, delayed: false });
  await second.collect(symbols(...names));

  const [first, again] = [await newestRows(world.pool), await newestRows(second.pool)];
  expect(first.quotes).toHaveLength(names.length + contracts.length + 1);
  expect(first.dividends.length).toBeGreaterThan(names.length);
  expect(again).toEqual(first);
});

test("serve tells contracts of one strike with different roots apart, by OCC symbol, by name and in a watchlist", async () => {
  const SPX = { underlying: "SPX", strike: "5000" };
  const spxw = optionXml(SPX, { quote: { lastprice: "61" } }).replace(
    "<sym>SPX</sym></instr",
    "<sym>SPXW</sym></instr",
  );
  const world = await loadingWorld();
  await loadXml(world, 0, answerXml(optionXml(SPX), spxw));
  const watchlists = join(tempDir(), "watchlists.yaml");
  writeFileSync(watchlists, 'DEFAULT: ["SPX:2027-01-15:CALL:5000", "SPX/SPXW:2027-01-15:CALL:5000"]\n');
  const contract = { ...MRDN, ...SPX };
  const calls: QuoteCall[][] = [
    [{ form: "watchlist", watchlist: "DEFAULT", delayed: false }],
    [symbols("SPX270115C05000000", "SPXW270115C05000000")],
    ["SPXW", undefined].map((root) => ({
      form: "option",
      contract: { ...contract, root },
      delayed: false,
    })),
  ];
  const first = await newestRows(world.pool);

  expect(first.quotes).toHaveLength(3);
  for (const some of calls) {
    const second = await collectingFrom(world.url, {
      flags: ["--as-of", at(0), "--watchlists", watchlists],
    });
    for (const call of some) await second.collect(call);
    expect(await newestRows(second.pool)).toEqual(first);
  }
});

test("a symbol that is asked for in small letters is answered as the archive has it", async () => {
  const world = await loadingWorld();
  await loadXml(world, 0, answerXml(equityXml("GE"), equityXml("NaN"), optionXml({})));

  const second = await collectingFrom(world.url, { flags: ["--as-of", at(0)] });
  await second.collect(symbols("ge", "NaN"));
  await second.collect({ form: "option", contract: { ...MRDN, underlying: "mrdn" }, delayed: false });

  const [first, again] = [await newestRows(world.pool), await newestRows(second.pool)];
  expect(first.quotes).toHaveLength(4);
  expect(again).toEqual(first);
});

test.each([
  "equity",
  "option-call",
  "option-put",
  "absent-values",
  "exponent-forms",
  "extra-elements",
  "market-closed",
  "equity-without-dividend",
  "equity-with-option-sentinels",
  "symbols-that-look-like-values",
  "cdata-description",
  "reordered",
  "options-without-type",
])("the recorded answer %s comes back to the same rows", async (name) => {
  const world = await loadingWorld();
  const body = readFileSync(new URL(`../recorded/${name}/response.xml`, import.meta.url));
  await loadXml(world, 0, body.toString("utf8"));
  const members = readDocument(body).items.flatMap((item) => {
    if (!item.ok) throw new Error(item.problem);
    const { symbol, expiration, optionType, strike } = item.item.instrument;
    if (expiration === null || optionType === null || strike === null) return [security(symbol)];
    return [option({ underlying: symbol, expiration, optionType, strike: String(Number(strike)) })];
  });
  const watchlists = join(tempDir(), "watchlists.yaml");
  writeFileSync(watchlists, `DEFAULT: ${JSON.stringify(members.map(instrumentName))}\n`);

  const second = await collectingFrom(world.url, { flags: ["--as-of", at(0), "--watchlists", watchlists] });
  await second.collect({ form: "watchlist", watchlist: "DEFAULT", delayed: false });

  const [first, again] = [await newestRows(world.pool), await newestRows(second.pool)];
  expect(first.quotes.length).toBeGreaterThan(0);
  expect(again).toEqual(first);
});

test("a moment played has the newest quote at or before it, to the microsecond, and the dividend known then", async () => {
  const world = await loadingWorld();
  const quote = (last: string, amt: string) =>
    answerXml(equityXml("GE", { quote: { lastprice: last }, dividend: { amt, yield: "1.5" } }));
  await world.append(
    answerRecord("2026-11-17T15:00:00.000001Z", quote("1.5", "0.10")),
    answerRecord("2026-11-18T15:00:00.000002Z", quote("2.50", "0.10")),
    answerRecord("2026-11-19T15:00:00.000003Z", quote("3.5", "0.20")),
  );
  await world.load();
  const seen = async (asOf: string) => {
    const second = await collectingFrom(world.url, { flags: ["--as-of", asOf] });
    const collected = await second.collect(symbols("GE"));
    const [row = null] = await rowsOfQuery(
      second.pool,
      "select last, amount from quotes left join dividends using (instrument_id, observed_at)",
    );
    return row ?? known(collected);
  };

  expect(await seen("2026-11-17T15:00:00.000000Z")).toEqual({ GE: false });
  expect(await seen("2026-11-17T10:00:00.000001-05:00")).toEqual({ last: "1.5", amount: "0.10" });
  expect(await seen("2026-11-18T15:00:00.000001Z")).toEqual({ last: "1.5", amount: "0.10" });
  expect(await seen("2026-11-18T10:00:00.000002-05:00")).toEqual({ last: "2.50", amount: "0.10" });
  expect(await seen("2030-01-01T00:00:00Z")).toEqual({ last: "3.5", amount: "0.20" });
});

test("serve --speed 60 plays an hour of the archive in a minute of the service's clock, and with --loop begins again", async () => {
  const world = await loadingWorld();
  for (const minutes of [0, 60, 120])
    await loadXml(world, minutes * 60, answerXml(equityXml("GE", { quote: { lastprice: `${minutes}` } })));
  const clock = createTestClock("2027-06-01T12:00:00Z");

  const second = await collectingFrom(world.url, {
    clock,
    flags: ["--as-of", at(0), "--speed", "60", "--loop"],
  });
  for (const stepMs of [0, 59_999, 1, 60_000, 1_000]) {
    clock.advance(stepMs);
    await second.collect(symbols("GE"));
  }

  // After 120 minutes and the minute of its last moment, which are a second here, it begins again.
  expect(await lasts(second.pool)).toEqual(["0", "0", "60", "120", "0"]);
  expect(second.stdout()).toMatch(/as of 2026-11-20T22:50:00\.000000Z, 60 times as fast, in a loop/);
});

test("serve without --as-of plays the present: quotes that arrive are served", async () => {
  const world = await loadingWorld();
  const clock = createTestClock(at(100));
  const second = await collectingFrom(world.url, { clock });

  const before = await second.collect(symbols("GE"));
  await loadXml(world, 50, answerXml(equityXml("GE", { quote: { lastprice: "7.25" } })));
  clock.advance(1_000);
  await second.collect(symbols("GE"));

  expect(known(before)).toEqual({ GE: false });
  expect(await lasts(second.pool)).toEqual(["7.25"]);
  expect(second.stdout()).toMatch(/no quotes yet\), as of now/);
});

test("an instrument that was not seen yet is as unknown as one the archive never knew", async () => {
  const world = await loadingWorld();
  await loadXml(world, 0, answerXml(equityXml("GE")));
  await loadXml(world, 60, answerXml(equityXml("LATE"), optionXml({})));

  const second = await collectingFrom(world.url, { flags: ["--as-of", at(30)] });
  const collected = await second.collect(symbols("GE", "LATE", "NEVER", "MRDN270115C00120000"));

  expect(known(collected)).toEqual({
    GE: true,
    LATE: false,
    NEVER: false,
    "MRDN:2027-01-15:CALL:120": false,
  });
  expect(await rowsOfQuery(second.pool, "select symbol from instruments")).toEqual([{ symbol: "GE" }]);
});

/** The text of `lastprice` that each form of `delayed` gets at a time, seconds after the first quote. */
async function lastBy(world: LoadingWorld, seconds: number) {
  const source = createArchiveSource({
    pool: world.pool,
    rows: "real",
    watchlists: new Map(),
    playback: { from: at(seconds), startedMs: 0, speed: 0, loopTo: null },
  });
  const found: Record<string, string | null> = {};
  for (const delayed of [true, false, null]) {
    const [quote] = await source.quotes([security("GE")], { now: new Date(0), delayed });
    found[String(delayed)] = quote?.quote.last ?? null;
  }
  return found;
}

test("delayed=true plays rows asked for as delayed, or real-time rows as old; false plays real-time rows; without it the newest are played", async () => {
  const world = await loadingWorld();
  const quote = (last: string) => answerXml(equityXml("GE", { quote: { lastprice: last } }));
  await loadXml(world, 0, quote("10"));
  await loadXml(world, 1, quote("9"), { delayed: true });
  await loadXml(world, 600, quote("11"));

  expect(await lastBy(world, 0)).toEqual({ true: null, false: "10", null: "10" });
  expect(await lastBy(world, 30)).toEqual({ true: "9", false: "10", null: "9" });
  expect(await lastBy(world, 600 + 899)).toEqual({ true: "9", false: "11", null: "11" });
  expect(await lastBy(world, 600 + 900)).toEqual({ true: "11", false: "11", null: "11" });
});

test("real rows and simulated ones are never played together, and what is played is never taken for an account's", async () => {
  const world = await loadingWorld();
  const quote = (last: string) => answerXml(equityXml("GE", { quote: { lastprice: last } }));
  await loadXml(world, 0, quote("10"));
  await loadXml(world, 60, quote("99"), { source: { kind: "simulated", name: "simulated" } });
  const polled = async (...flags: string[]) => {
    const { baseUrl, stdout } = await serving(world.url, createTestClock(), "--as-of", at(120), ...flags);
    const other = await loadingWorld();
    const { exitCode } = await run(
      ["poll", "--symbols", "GE", "--json"],
      {
        ...accountAt(baseUrl),
        DATABASE_URL: other.url,
        QUOTEKEEPER_DATA_DIR: tempDir(),
      },
      createTestClock(),
    );
    const [row] = await rowsOfQuery(
      other.pool,
      "select s.kind, s.name, q.last from quotes q join sources s on s.id = q.source_id",
    );
    return { exitCode, row, says: stdout().split("\n")[0] };
  };

  expect(await polled()).toEqual({
    exitCode: 0,
    row: { kind: "simulated", name: "archive", last: "10" },
    says: expect.stringMatching(/^Market Quotes Service, archive at /),
  });
  expect(await polled("--rows", "simulated")).toEqual({
    exitCode: 0,
    row: { kind: "simulated", name: "simulated", last: "99" },
    says: expect.stringMatching(/^Market Quotes Service, archive of SIMULATED quotes at /),
  });
});

test("a source that has answered before gives what a new one gives, at any moment played, whatever was loaded since", async () => {
  const world = await loadingWorld();
  const keys = ["GE", "KO", "LATE", "NEVER"].map(security);
  let loaded = 0;
  const load = (seconds: number, symbol: string, delayed: boolean) =>
    loadXml(world, seconds, answerXml(equityXml(symbol, { quote: { lastprice: `${++loaded}.5` } })), {
      delayed,
    });
  // Ten quotes of an hour at first, then some in between, behind and before them; one of a day after.
  for (let quote = 0; quote < 10; quote++) await load(quote * 360, quote % 2 ? "GE" : "KO", quote % 3 === 0);
  const later = [
    [1_000, "GE"],
    [90_000, "KO"],
    [100, "LATE"],
    [3_000, "GE"],
    [-50, "KO"],
  ] as const;
  const from = at(0);
  const sourceNow = () =>
    createArchiveSource({
      pool: world.pool,
      rows: "real",
      watchlists: new Map(),
      playback: { from, startedMs: 0, speed: 1, loopTo: null },
    });
  const old = sourceNow();
  const seen = new Set<string>();

  for (const [seconds, symbol] of later) {
    for (let step = 0; step < 60; step++) {
      // Back and forth, mostly by a little.
      const now = new Date(((step * 37) % 60) * 97_003 + (step % 4) * 360_000);
      const delayed = [true, false, null][step % 3] ?? null;
      const [before, fresh] = await Promise.all([
        old.quotes(keys, { now, delayed }),
        sourceNow().quotes(keys, { now, delayed }),
      ]);
      expect(before).toEqual(fresh);
      for (const { quote } of before ?? []) seen.add(quote.last ?? "none");
    }
    await load(seconds, symbol, seconds % 100 === 0);
  }

  expect(seen.size).toBeGreaterThan(10);
});

test.each([
  [["--as-of", "2026-11-17 10:00"], /--as-of.*Expected a time with its offset/],
  [["--speed", "60"], /^USAGE: --speed needs --as-of/],
  [["--speed", "fast", "--as-of", at(0)], /--speed.*Expected a number/],
  [
    ["--watchlists", "/nowhere/at/all.yaml"],
    /^WATCHLISTS_INVALID: \/nowhere\/at\/all\.yaml cannot be read \(ENOENT\)/,
  ],
  [["--loop", "--as-of", "2090-01-01T00:00:00Z"], /^USAGE: --loop: the archive ends at 2026-11-20/],
])("serve %j is wrong usage, ends with exit code 2 and says why", async (flags, said) => {
  const world = await loadingWorld();
  await loadXml(world, 0, answerXml(equityXml("GE")));

  const outcome = await run(["serve", "--source", "archive", "--port", "0", ...flags], {
    DATABASE_URL: world.url,
    QUOTEKEEPER_DATA_DIR: tempDir(),
  });

  expect(outcome).toMatchObject({ exitCode: 2, stdout: "", stderr: expect.stringMatching(said) });
});

test("serve without an archive says so, and makes none", async () => {
  const dataDir = join(tempDir(), "data");

  const outcome = await run(["serve", "--source", "archive", "--port", "0"], {
    QUOTEKEEPER_DATA_DIR: dataDir,
  });

  expect(outcome).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/^ARCHIVE_EMPTY: .*no archive/),
  });
  expect(() => readFileSync(dataDir)).toThrow("ENOENT");
});

test("serve names every problem of a watchlist file", async () => {
  const file = join(tempDir(), "watchlists.yaml");
  writeFileSync(file, "DEFAULT: []\ngood: [AAPL]\nbad: [A B, C]\n");

  const outcome = await run(["serve", "--source", "archive", "--watchlists", file]);

  expect(outcome).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/DEFAULT: .*bad(\.0)?: /) });
});
