/** Class shares, sizes and greeks at Tradier: the real commands against a fake that has them as Tradier does. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { TOKENS } from "../fakes/tradier/fake.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { openFakeTradier } from "../support/livingFakes.ts";
import { run } from "./edges.ts";
import { surroundings } from "./oneJob.ts";

const JOB = `name: shares
schedule: "* * * * *"
session: always
symbols: [BRK/B, AAPL]
options:
  - { underlying: BRK.B, expiration: 2026-12-18, type: PUT, strike: 480 }
chains:
  - { underlying: BRK/B, expirations: ["2026-12-18"], strikes: [480, 490] }
`;

async function world() {
  const clock = createTestClock("2026-11-20T20:00:03.000Z");
  const { fake, settings } = await openFakeTradier({ clock, trading: () => "usual", mostStrikes: 90 });
  const { pool, settings: own } = await surroundings(JOB);
  return { clock, fake, pool, env: { ...own, ...settings } };
}

test("a job that names a class of shares with a slash is one call a pass, and its contracts are in it once each", async () => {
  const { env, clock, fake } = await world();

  const checked = await run(["jobs", "check"], env, clock);
  const planned = JSON.parse((await run(["plan", "--json"], env, clock)).stdout) as { callsPerPass: number };

  expect([checked.exitCode, planned.callsPerPass]).toEqual([0, 1]);
  expect(fake.calls).toEqual([]);
});

test("a class of shares and its contracts are asked for by Tradier's names and stored by the archive's, whatever a person writes", async () => {
  const { env, clock, pool, fake } = await world();

  const polled = [
    await run(["poll", "--symbols", "brk/b,BRK.B,BRKB261218C00480000"], env, clock),
    await run(["poll", "--option", "BRK/B:2026-12-18:CALL:480"], env, clock),
  ];

  expect(polled.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(Array(2).fill([0, ""]));
  expect(fake.calls.map(({ symbols }) => symbols)).toEqual([
    ["BRK/B", "BRKB261218C00480000"],
    ["BRKB261218C00480000"],
  ]);
  expect(
    await rowsOfQuery(
      pool,
      `select i.symbol, i.root, i.option_type, u.symbol as underlying, count(*)::int as quotes
       from instruments i join quotes q on q.instrument_id = i.id left join instruments u on u.id = i.underlying_id
       group by 1, 2, 3, 4 order by 3 nulls first`,
    ),
  ).toEqual([
    { symbol: "BRK.B", root: null, option_type: null, underlying: null, quotes: 1 },
    { symbol: "BRK.B", root: null, option_type: "CALL", underlying: "BRK.B", quotes: 2 },
  ]);
});

test("a contract that has no OCC symbol is refused in Tradier's name, before it is sent", async () => {
  const { env, clock, fake } = await world();
  const job = (name: string, asked: string) =>
    writeFileSync(
      join(env.QUOTEKEEPER_JOBS_DIR, `${name}.yaml`),
      `name: ${name}\nschedule: "* * * * *"\nsession: always\n${asked}\n`,
    );
  job("dear", 'options: [{ underlying: BRK.A, expiration: "2026-12-18", type: CALL, strike: 700000 }]');
  job(
    "odd",
    "chains: [{ underlying: ABC.DE, expirations: { next: 1 }, strikes: { around: last, percent: 5, step: 5 } }]",
  );

  const checked = await run(["jobs", "check"], env, clock);
  const polled = await run(["poll", "--option", "ABC.DE:2026-12-18:CALL:5"], env, clock);

  const said = checked.stdout + checked.stderr;
  expect(checked.exitCode).toBe(2);
  expect(said).toContain(
    "options: Tradier cannot be asked for BRK.A:2026-12-18:CALL:700000: it has no OCC symbol",
  );
  expect(said).toContain("chains: Tradier cannot be asked for ABC.DE:");
  expect(polled.exitCode).toBe(2);
  expect(polled.stderr).toContain("--option: Tradier cannot be asked for ABC.DE:2026-12-18:CALL:5");
  expect(fake.calls).toEqual([]);
});

test("sizes of stocks are stored as they were sent, and a put has gamma and vega of its own strike and no theta and rho", async () => {
  const { env, clock, pool, fake } = await world();

  await run(
    ["poll", "--symbols", "SPY,SPY261218C00600000,SPY261218P00600000,SPY261218P00625000"],
    env,
    clock,
  );

  const rows = await rowsOfQuery(
    pool,
    `select option_type, strike::int, bid_size % 40 = 0 as in_lots, bid_size < 40000 as are_shares, gamma is not null as gamma,
            vega is not null as vega, theta is not null as theta, rho is not null as rho
     from extended_quotes e join instruments i on i.id = e.instrument_id where option_type is distinct from 'CALL' or greeks_at is not null
     order by option_type, strike`,
  );
  const [surface] = await rowsOfQuery(
    pool,
    `select count(theta_difference)::int as theta, count(rho_difference)::int as rho, count(vega_difference) > 0 as vega
     from surface_at('SPY', '2026-11-20T20:01:00Z') where option_type = 'PUT'`,
  );
  const puts = rows.filter(({ option_type }) => option_type === "PUT");
  const stock = rows.find(({ option_type }) => option_type === null);
  expect(fake.calls).toHaveLength(1);
  expect(stock).toMatchObject({ in_lots: true, are_shares: true });
  expect(puts).toHaveLength(2);
  for (const put of puts) expect(put).toMatchObject({ theta: false, rho: false, gamma: put["vega"] });
  expect(rows.filter(({ option_type }) => option_type === "CALL")).toMatchObject([
    { theta: true, rho: true },
  ]);
  expect(surface).toEqual({ theta: 0, rho: 0, vega: true });
});

test("contracts of one date, type and strike and of two roots are told apart by chain_at and surface_at", async () => {
  const { env, clock, pool } = await world();
  await run(["poll", "--symbols", "SPX,SPX261218C00600000,SPXW261218C00600000"], env, clock);

  const roots = async (name: string) =>
    rowsOfQuery(
      pool,
      `select root from ${name}('SPX', '2026-11-20T20:01:00Z') where (expiration, option_type, strike) = ('2026-12-18', 'CALL', 600)
       order by root nulls first`,
    );

  for (const name of ["chain_at", "surface_at"])
    expect(await roots(name)).toEqual([{ root: null }, { root: "SPXW" }]);
});

test("the advice on a refused token names the setting that Tradier has, and none that it has not", async () => {
  const { env, clock } = await world();

  const refused = await run(
    ["poll", "--symbols", "AAPL"],
    { ...env, QUOTES_ACCESS_TOKEN: TOKENS.expired },
    clock,
  );

  expect(refused.stderr).toContain("it goes by QUOTES_ACCESS_TOKEN.");
  expect(refused.stderr).not.toMatch(/QUOTES_CONSUMER|TOKEN_SECRET|clock/);
});
