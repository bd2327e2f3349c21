/**
 * What the official specification says of the answers that the fake gives: market-data-api.json 1.1 and trading-api.json of
 * alpacahq/alpaca-mcp-server, June 2026. The facts are theirs, the schema is ours. Its `null`s beyond the specification are those that
 * clients' tests have.
 */
import { z } from "zod";
import { isDateText } from "../../../src/market/calendar/dates.ts";

/** RFC 3339, UTC, with none to nine digits behind the second. */
const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/);
const date = z.string().refine(isDateText);
const count = z.int().min(0);
const price = z.number().min(0);
const exchange = z.string().length(1);
const stockSymbol = z.string().regex(/^[A-Z]+(\.[A-Z]+)?$/);
const occ = z.string().regex(/^[A-Z]{1,5}\d?\d{6}[CP]\d{8}$/);

const bar = z.strictObject({
  t: time,
  o: price,
  h: price,
  l: price,
  c: price,
  v: count,
  n: count,
  vw: price,
});

const bars = { minuteBar: bar.optional(), dailyBar: bar.optional(), prevDailyBar: bar.nullish() };

const stockSnapshot = z.strictObject({
  latestTrade: z
    .strictObject({
      t: time,
      x: exchange,
      p: price,
      s: count,
      c: z.array(z.string().length(1)),
      i: count,
      z: z.enum(["A", "B", "C", "N", "O"]),
      u: z.enum(["canceled", "incorrect", "corrected"]).optional(),
    })
    .optional(),
  latestQuote: z
    .strictObject({
      t: time,
      ax: exchange,
      ap: price,
      as: count,
      bx: exchange,
      bp: price,
      bs: count,
      c: z.array(z.string().length(1)).min(1).max(2),
      z: z.enum(["A", "B", "C", "N", "O"]),
    })
    .optional(),
  ...bars,
});

/** `/v2/stocks/snapshots`: no wrapper. A client's test of 2021 has `null` for a name without a snapshot. */
export const stockSnapshots = z.record(stockSymbol, stockSnapshot.nullable());

const optionSnapshot = z.strictObject({
  latestTrade: z
    .strictObject({ t: time, x: exchange, p: price, s: count, c: z.string().length(1) })
    .optional(),
  latestQuote: z
    .strictObject({
      t: time,
      ax: exchange,
      ap: price,
      as: count,
      bx: exchange,
      bp: price,
      bs: count,
      c: z.string().length(1),
    })
    .optional(),
  ...bars,
  greeks: z
    .strictObject({
      delta: z.number(),
      gamma: z.number(),
      rho: z.number(),
      theta: z.number(),
      vega: z.number(),
    })
    .nullish(),
  impliedVolatility: z.number().nullish(),
});

/** `/v1beta1/options/snapshots` and the chain below it. */
export const optionSnapshots = z.strictObject({
  snapshots: z.record(occ, optionSnapshot),
  next_page_token: z.string().min(1).nullish(),
});

/** Text, as all numbers of the trading host. */
const text = z.string().regex(/^\d+(\.\d+)?$/);

const optionContract = z.strictObject({
  id: z.uuid(),
  symbol: occ,
  name: z.string().min(1),
  status: z.enum(["active", "inactive"]),
  tradable: z.boolean(),
  expiration_date: date,
  root_symbol: z.string().regex(/^[A-Z]{1,5}\d?$/),
  underlying_symbol: stockSymbol,
  underlying_asset_id: z.uuid(),
  type: z.enum(["call", "put"]),
  style: z.enum(["american", "european"]),
  strike_price: text,
  multiplier: text,
  size: text,
  open_interest: text.nullable(),
  open_interest_date: date.nullable(),
  close_price: text.nullable(),
  close_price_date: date.nullable(),
  ppind: z.boolean(),
  /** With `show_deliverables=true` alone. */
  deliverables: z.array(z.looseObject({ type: z.string(), symbol: z.string() })).optional(),
});

/** `/v2/options/contracts`. */
export const optionContracts = z.strictObject({
  option_contracts: z.array(optionContract),
  next_page_token: z.string().min(1).nullable(),
});

/** An error of either host. */
export const errorBody = z.strictObject({ code: z.int().optional(), message: z.string().min(1) });

/** In seconds; in answers of 200, 400 and 429. */
export const limitHeaders = z.object({
  "x-ratelimit-limit": z.string().regex(/^\d+$/),
  "x-ratelimit-remaining": z.string().regex(/^\d+$/),
  "x-ratelimit-reset": z.string().regex(/^\d{10}$/),
});
