import { beforeAll, expect, test } from "@jest/globals";
import type { ChainView, Contract, TermPoint } from "../../src/archive/ask/dashboardTypes.ts";
import { followOwnRows } from "../support/archive.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { askOn, openDashboard } from "./dashboard.ts";

const { url, pool } = await freshDatabase();
const reader = poolOn(url, { readOnly: true, max: 2 });

/** Friday 2026-11-20; both expirations are Fridays whose sessions close at 16:00 in New York, 21:00 UTC. */
const AT = "2026-11-20T16:00:00Z";
const NEAR = "2026-12-18";
const FAR = "2027-01-15";
const CLOSES = { [NEAR]: Date.parse("2026-12-18T21:00:00Z"), [FAR]: Date.parse("2027-01-15T21:00:00Z") };

/** What the service said of the underlying and of the contracts: the raw rows, from which the tests find everything again. */
const SPOTS = [
  { at: "2026-11-20T15:00:00Z", bid: 149, ask: 150 },
  { at: "2026-11-20T15:30:00Z", bid: 151.5, ask: 152.5 },
];
type Raw = { id: number; expiration: keyof typeof CLOSES; type: "CALL" | "PUT"; strike: number } & {
  at: string;
  bid: number;
  ask: number;
};
const early = "2026-11-20T15:10:00Z";
const late = "2026-11-20T15:40:00Z";
const RAW: Raw[] = [
  { id: 11, expiration: NEAR, type: "CALL", strike: 145, at: late, bid: 10.2, ask: 10.6 },
  { id: 12, expiration: NEAR, type: "PUT", strike: 145, at: late, bid: 2.4, ask: 2.7 },
  { id: 13, expiration: NEAR, type: "CALL", strike: 150, at: late, bid: 6.9, ask: 7.1 },
  { id: 14, expiration: NEAR, type: "PUT", strike: 150, at: early, bid: 4.6, ask: 4.8 },
  { id: 15, expiration: NEAR, type: "CALL", strike: 160, at: late, bid: 0, ask: 2.6 },
  { id: 16, expiration: FAR, type: "CALL", strike: 150, at: late, bid: 9.6, ask: 9.9 },
  { id: 17, expiration: FAR, type: "PUT", strike: 155, at: late, bid: 9.4, ask: 9.9 },
];

beforeAll(async () => {
  await pool.query(
    `insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (1, 'CS', 'AAPL', now(), now())`,
  );
  for (const { at, bid, ask } of SPOTS) await store(1, at, { bid, ask });
  for (const { id, expiration, type, strike, at, bid, ask } of RAW) {
    await pool.query(
      `insert into instruments (id, security_type, symbol, expiration, option_type, strike, underlying_id, first_seen_at, last_seen_at)
       values ($1, 'OPT', 'AAPL', $2, $3, $4, 1, now(), now())`,
      [id, expiration, type, strike],
    );
    await store(id, at, { bid, ask, last: (bid + ask) / 2, volume: id * 10, delta: "0.5" });
    // Another market's contracts are never of this chain.
    await store(id, at, { bid: 90, ask: 91 }, 2);
  }
  await followOwnRows(pool);
});

type Fields = { bid: number; ask: number; last?: number; volume?: number; delta?: string };

async function store(id: number, at: string, fields: Fields, source = 1): Promise<void> {
  const { bid, ask, last = ask, volume = null, delta = null } = fields;
  await pool.query(
    "insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last) values ($1, $2, $3, false, $4, $5, $6)",
    [at, id, source, bid, ask, last],
  );
  await pool.query(
    "insert into extended_quotes (observed_at, instrument_id, source_id, volume, delta) values ($1, $2, $3, $4, $5)",
    [at, id, source, volume, delta],
  );
}

async function get(path: string): Promise<Response> {
  const { get: ask } = await openDashboard({ pool: reader });
  const response = await ask(path);
  expect(response.status).toBe(200);
  return response;
}

const ask = askOn(reader);

const chain = (expiration: string): Promise<ChainView> =>
  ask<ChainView>(`/api/chain?symbol=AAPL&expiration=${expiration}&source=1&at=${AT}`);

// Black, Scholes and Merton once more, with no word of the archive's: the value is an integral over what the underlying may be
// worth at the end, and the volatility is found by halving.

type Model = {
  type: "CALL" | "PUT";
  spot: number;
  strike: number;
  years: number;
  rate: number;
  yield: number;
};

function worth(
  { type, spot, strike, years, rate, yield: dividends }: Model,
  volatility: number,
  steps = 20_000,
): number {
  const deviation = volatility * Math.sqrt(years);
  const drift = (rate - dividends - volatility ** 2 / 2) * years;
  // The integral begins where the payoff does, so that Simpson's rule meets no corner.
  const corner = (Math.log(strike / spot) - drift) / deviation;
  const [from, to] = type === "CALL" ? [corner, 10] : [-10, corner];
  const width = (to - from) / steps;
  const at = (z: number): number => {
    const end = spot * Math.exp(drift + deviation * z);
    const payoff = type === "CALL" ? end - strike : strike - end;
    return (payoff * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
  };
  let sum = at(from) + at(to);
  for (let step = 1; step < steps; step++) sum += at(from + step * width) * (step % 2 === 1 ? 4 : 2);
  return (Math.exp(-rate * years) * sum * width) / 3;
}

function volatilityAt(model: Model, price: number): number {
  let [low, high] = [1e-3, 4];
  for (let halving = 0; halving < 45; halving++) {
    const middle = (low + high) / 2;
    if (worth(model, middle, 2_000) < price) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function modelOf(
  { type, strike, at, expiration }: Raw,
  { rate, dividendYield }: { rate: number; dividendYield: number },
): Model {
  const quote = SPOTS.filter((each) => each.at <= at).at(-1);
  const spot = ((quote?.bid ?? 0) + (quote?.ask ?? 0)) / 2;
  const years = ((CLOSES[expiration] ?? 0) - Date.parse(at)) / (365 * 86_400_000);
  return { type, spot, strike, years, rate, yield: dividendYield };
}

const found = (contracts: readonly Contract[], { expiration, type, strike }: Raw): Contract | undefined =>
  contracts.find(({ instrument }) => instrument === `AAPL:${expiration}:${type}:${strike}`);

test.each(RAW.filter(({ bid }) => bid > 0))(
  "volatilities and greeks of a chain are those at which the model is worth the quotes: $expiration $type $strike",
  async (raw) => {
    const view = await chain(raw.expiration);
    const contract = found(view.contracts, raw);
    const model = modelOf(raw, view);
    const volatility = volatilityAt(model, (raw.bid + raw.ask) / 2);
    const shifted = (change: Partial<Model>, by = 0): number =>
      worth({ ...model, ...change }, volatility + by);
    const { spot, years } = model;
    const day = 1e-3;

    expect(contract?.spot).toBe(String(spot));
    expect(contract?.moneyness).toBeCloseTo(spot / raw.strike, 10);
    expect(contract?.ivMid).toBeCloseTo(volatility, 6);
    expect(contract?.ivBid).toBeCloseTo(volatilityAt(model, raw.bid), 6);
    expect(contract?.ivAsk).toBeCloseTo(volatilityAt(model, raw.ask), 6);
    expect(contract?.delta).toBeCloseTo(
      (shifted({ spot: spot + 0.01 }) - shifted({ spot: spot - 0.01 })) / 0.02,
      5,
    );
    expect(contract?.gamma).toBeCloseTo(
      (shifted({ spot: spot + 0.1 }) - 2 * shifted({}) + shifted({ spot: spot - 0.1 })) / 0.01,
      4,
    );
    expect(contract?.vega).toBeCloseTo((shifted({}, 1e-4) - shifted({}, -1e-4)) / 2e-4, 3);
    // Time that passes is time that is left no more.
    expect(contract?.theta).toBeCloseTo(
      (shifted({ years: years - day / 365 }) - shifted({ years: years + day / 365 })) / ((2 * day) / 365),
      2,
    );
    expect(contract?.serviceDelta).toBe("0.5");
    expect(contract?.volume).toBe(String(raw.id * 10));
  },
);

test("volatilities and greeks of a chain are absent where nobody bids, but for the ask's", async () => {
  const contract = found((await chain(NEAR)).contracts, RAW[4] as Raw);

  expect(contract).toMatchObject({ ivBid: null, ivMid: null, delta: null, ivAsk: expect.any(Number) });
});

test("volatilities and greeks of a chain rest on the rate and the yield that the database's settings name, and say them", async () => {
  const role = await freshDatabase();
  await role.pool.query(
    `do $$ begin
         execute format('alter database %I set quotekeeper.rate = ''0.1''', current_database());
         execute format('alter database %I set quotekeeper.dividend_yield = ''0.02''', current_database());
       end $$`,
  );
  const askThere = askOn(poolOn(role.url, { readOnly: true, max: 1 }));

  const set = await askThere(`/api/chain?symbol=AAPL&expiration=${NEAR}&source=1`);

  expect(set).toMatchObject({ rate: 0.1, dividendYield: 0.02, contracts: [] });
  expect(await chain(NEAR)).toMatchObject({ rate: 0.04, dividendYield: 0 });
});

const term = (at: string, symbol = "AAPL"): Promise<TermPoint[]> =>
  ask<TermPoint[]>(`/api/chain/term?symbol=${symbol}&expiration=${FAR}&source=1&at=${at}`);

test("the term structure is the mean of call and put at the strike nearest to the underlying, of each expiration", async () => {
  const points = await term(AT);
  const rates = await chain(NEAR);
  const iv = (raw: Raw): number => volatilityAt(modelOf(raw, rates), (raw.bid + raw.ask) / 2);

  expect(points.map(({ expiration, strike }) => [expiration, strike])).toEqual([
    [NEAR, "150"],
    [FAR, "150"],
  ]);
  expect(points[0]?.ivMid).toBeCloseTo((iv(RAW[2] as Raw) + iv(RAW[3] as Raw)) / 2, 6);
  expect(points[1]?.ivMid).toBeCloseTo(iv(RAW[5] as Raw), 6);
});

test("the term structure knows nothing that came later than its instant", async () => {
  expect(await term("2026-11-20T15:09:59Z")).toEqual([]);
  expect((await term("2026-11-20T15:20:00Z")).map(({ expiration }) => expiration)).toEqual([NEAR]);
});

test("the implied move of an expiration is its straddle, by the underlying's price when it was quoted", async () => {
  const [near, far] = await term(AT);

  expect(near?.straddle).toBe("11.7");
  expect(near?.move).toBeCloseTo(11.7 / ((152 + 149.5) / 2), 12);
  // Its put has another strike.
  expect(far).toMatchObject({ strike: "150", straddle: null, move: null });
});

test("there is no implied move where a side has no bid, and where exercise would be worth more than half of the straddle", async () => {
  await pool.query(
    `insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (2, 'CS', 'KO', now(), now())`,
  );
  await store(2, early, { bid: 99, ask: 101 });
  const add = async (
    id: number,
    [expiration, type, strike]: [string, string, number],
    bid: number,
    ask: number,
  ) => {
    await pool.query(
      `insert into instruments (id, security_type, symbol, expiration, option_type, strike, underlying_id, first_seen_at, last_seen_at)
       values ($1, 'OPT', 'KO', $2, $3, $4, 2, now(), now())`,
      [id, expiration, type, strike],
    );
    await store(id, late, { bid, ask });
  };
  await add(21, [NEAR, "CALL", 95], 6.6, 6.8);
  await add(22, [NEAR, "PUT", 95], 1.4, 1.6);
  await add(23, [FAR, "CALL", 100], 0, 0.2);
  await add(24, [FAR, "PUT", 100], 3.3, 3.5);
  await add(25, ["2027-02-19", "CALL", 95], 8.4, 8.6);
  await add(26, ["2027-02-19", "PUT", 95], 2.4, 2.6);
  await followOwnRows(pool);

  const moves = (await term(AT, "KO")).map(({ straddle, move }) => [straddle, move]);

  expect(moves).toEqual([
    [null, null],
    [null, null],
    ["11", 0.11],
  ]);
});

const lines = async (path: string): Promise<{ name: string | null; rows: Record<string, string>[] }> => {
  const response = await get(path);
  const [heading = "", ...rest] = (await response.text()).trim().split("\r\n");
  const names = heading.split(",");
  return {
    name: response.headers.get("content-disposition"),
    rows: rest.map((line) =>
      Object.fromEntries(line.split(",").map((value, place) => [names[place] ?? "", value])),
    ),
  };
};

test("a chain as a file has every contract of the expiration, its source and what its volatility rests on in each row", async () => {
  const { name, rows } = await lines(`/api/chain.csv?symbol=AAPL&expiration=${NEAR}&source=1&at=${AT}`);
  const { contracts } = await chain(NEAR);

  expect(name).toBe('attachment; filename="AAPL-2026-12-18-20261120T160000Z.csv"');
  expect(
    rows.map(({ strike, option_type, iv_mid, service_delta }) => [
      strike,
      option_type,
      iv_mid,
      service_delta,
    ]),
  ).toEqual(
    contracts.map(({ strike, optionType, ivMid, serviceDelta }) => [
      strike,
      optionType,
      ivMid === null ? "" : String(ivMid),
      serviceDelta,
    ]),
  );
  expect(rows).toHaveLength(5);
  expect(rows.every(({ source, rate }) => source === "account" && rate === "0.04")).toBe(true);
});

test("a chain as a file of simulated prices is named so; without an expiration it has all of them", async () => {
  const { name, rows } = await lines(`/api/chain.csv?symbol=AAPL&source=2&at=${AT}`);

  expect(name).toContain("AAPL-chain-20261120T160000Z-SIMULATED.csv");
  expect(rows.map(({ expiration }) => expiration)).toEqual([...Array(5).fill(NEAR), ...Array(2).fill(FAR)]);
  expect(rows.every(({ source }) => source === "simulated")).toBe(true);
});
