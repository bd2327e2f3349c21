/** Implied volatility and greeks, beside values that were reckoned with fifty digits and beside a textbook's. */
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";

const { pool } = await freshDatabase();

const [header = "", ...lines] = readFileSync(new URL("optionValues/reference.tsv", import.meta.url), "utf8")
  .trim()
  .split("\n");
const reference = lines.map((line) => {
  const cells = line.split("\t");
  return Object.fromEntries(header.split("\t").map((name, place) => [name, cells[place] ?? ""]));
});

const FROM_REFERENCE = `from json_to_recordset($1) as r (option_type text, spot float8, strike float8, years float8,
  volatility float8, rate float8, dividend_yield float8, value float8, delta float8, gamma float8, vega float8, theta float8, rho float8)`;

/** Numbers with at most six places: nobody sends others. */
const numbers = (min: number, max: number) =>
  fc
    .integer({ min: Math.round(min * 1e6), max: Math.round(max * 1e6) })
    .map((millionths) => millionths / 1e6);

test.each(["value", "delta", "gamma", "vega", "theta", "rho"])(
  "a European option has the %s that was reckoned with fifty digits, to 1e-9 of it",
  async (name) => {
    const rows = await rowsOfQuery(
      pool,
      `select option_type, spot, strike, ${name} as wanted, f
       ${FROM_REFERENCE}
       cross join lateral (select (option_value(option_type, spot, strike, years, volatility, rate, dividend_yield)).${name}::float8 as f) f
       where f is null or abs(f - ${name}) > 1e-9 * greatest(abs(${name}), 1)`,
      [JSON.stringify(reference)],
    );

    expect(reference).toHaveLength(200);
    expect(rows).toEqual([]);
  },
);

test("a European option has the volatility that its value was made with, to 1e-6, wherever a cent's millionth of it is time value", async () => {
  const [row] = await rowsOfQuery(
    pool,
    `select count(*)::int as n, max(abs(iv - volatility)) filter (where vega > 1e-4) < 1e-6 as close, count(iv) filter (where vega > 1e-4) = count(*) filter (where vega > 1e-4) as complete,
            count(*) filter (where vega > 1e-4)::int as looked_at
     ${FROM_REFERENCE}
     cross join lateral (select implied_volatility(option_type, value, spot, strike, years, rate, dividend_yield) as iv) i`,
    [JSON.stringify(reference)],
  );

  expect(row).toMatchObject({ n: 200, close: true, complete: true });
  expect(row?.["looked_at"]).toBeGreaterThan(150);
});

test.each([
  // J. C. Hull, Options, Futures, and Other Derivatives: the example of the chapter on Black-Scholes-Merton.
  ["CALL", 42, 40, 0.5, 0.2, 0.1, 0, 4.76],
  ["PUT", 42, 40, 0.5, 0.2, 0.1, 0, 0.81],
  // E. G. Haug, The Complete Guide to Option Pricing Formulas: Black-Scholes, and Merton's dividend yield.
  ["CALL", 60, 65, 0.25, 0.3, 0.08, 0, 2.1334],
  ["PUT", 100, 95, 0.5, 0.2, 0.1, 0.05, 2.4648],
])("a %s of %d at %d is worth what textbooks print", async (...example) => {
  const [row] = await rowsOfQuery(
    pool,
    "select value from option_value($1, $2::float8, $3::float8, $4::float8, $5::float8, $6::float8, $7::float8)",
    example.slice(0, 7),
  );

  const printed = String(example[7]).split(".")[1]?.length ?? 0;
  expect(Number(row?.["value"]).toFixed(printed)).toBe(example[7].toFixed(printed));
});

test("the value of a European option gives its volatility back, whatever it is made of", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          option_type: fc.constantFrom("CALL", "PUT"),
          spot: numbers(0.01, 10_000),
          apart: numbers(-1, 1),
          years: numbers(1e-4, 5),
          volatility: numbers(0.01, 4),
          rate: numbers(-0.05, 0.2),
          dividend_yield: numbers(0, 0.2),
        }),
        { minLength: 1, maxLength: 50 },
      ),
      async (options) => {
        // What double precision keeps of the price says how well the volatility can be known.
        const wrong = await rowsOfQuery(
          pool,
          `select o.*, v.value, i.iv
           from json_to_recordset($1) as o (option_type text, spot float8, apart float8, years float8, volatility float8, rate float8, dividend_yield float8)
           cross join lateral (select spot * exp(apart) as strike) k
           cross join lateral option_value(option_type, spot, strike, years, volatility, rate, dividend_yield) v
           cross join lateral (select implied_volatility(option_type, v.value, spot, strike, years, rate, dividend_yield) as iv) i
           where v.vega > 1e-8 * (spot + strike)
             and (i.iv is null or abs(i.iv - volatility) > 1e-9 + 1e-14 * (spot + strike) / v.vega)`,
          [JSON.stringify(options)],
        );
        expect(wrong).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});

test("a European option has no volatility at the price that is its upper bound, however that was rounded", async () => {
  const some = fc.sample(
    fc.record({
      spot: numbers(0.01, 10_000),
      apart: numbers(-1, 1),
      years: numbers(1e-4, 10),
      rate: numbers(-0.05, 0.2),
      dividend_yield: numbers(-0.02, 0.08),
    }),
    1_000,
  );
  const bounds = some.flatMap(({ spot, apart, years, rate, dividend_yield }) => {
    const strike = spot * Math.exp(apart);
    const given = { spot, strike, years, rate, dividend_yield };
    return [
      { ...given, option_type: "CALL", price: spot * Math.exp(-dividend_yield * years) },
      { ...given, option_type: "PUT", price: strike * Math.exp(-rate * years) },
    ];
  });

  const found = await rowsOfQuery(
    pool,
    `select o.*, i.iv
     from json_to_recordset($1) as o (option_type text, price float8, spot float8, strike float8, years float8, rate float8, dividend_yield float8)
     cross join lateral (select implied_volatility(option_type, price, spot, strike, years, rate, dividend_yield) as iv) i
     where i.iv is not null`,
    [JSON.stringify(bounds)],
  );

  expect(found).toEqual([]);
});

test.each([
  ["below what exercise is worth", "'CALL', 9.99, 110, 100, 0.5, 0, 0"],
  ["just what exercise is worth", "'PUT', 10, 90, 100, 0.5, 0, 0"],
  ["just what the stock is worth", "'CALL', 110, 110, 100, 0.5, 0, 0"],
  ["more than the stock is worth", "'CALL', 111, 110, 100, 0.5, 0, 0"],
  ["nothing", "'CALL', 0, 110, 100, 0.5, 0, 0"],
  ["no price", "'CALL', null, 110, 100, 0.5, 0, 0"],
  ["of an option that has expired", "'CALL', 11, 110, 100, 0, 0, 0"],
  ["of a stock that is worth nothing", "'PUT', 11, 0, 100, 0.5, 0, 0"],
  ["of neither a call nor a put", "'BOTH', 11, 110, 100, 0.5, 0, 0"],
  ["without an end", "'CALL', 'Infinity', 110, 100, 0.5, 0, 0"],
  ["that is no number", "'CALL', 'NaN', 110, 100, 0.5, 0, 0"],
])("a European option has no volatility at a price that is %s", async (_what, words) => {
  const [row] = await rowsOfQuery(pool, `select implied_volatility(${words}) as iv`);

  expect(row).toEqual({ iv: null });
});
