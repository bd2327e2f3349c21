import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { rowsOfQuery } from "../support/archive.ts";
import { handOnDatabases } from "../support/database.ts";
import { answerRecord, at } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";
import { decimal } from "../support/secondOpinion.ts";
import { answerXml, equityXml } from "../support/xml.ts";

handOnDatabases();

/** Loads one answer for each text, each in every decimal field, and gives back what the database holds of it. */
async function stored(texts: readonly string[]): Promise<Record<string, string | null>[]> {
  const { pool, append, load } = await loadingWorld();
  const records = texts.map((text, n) =>
    answerRecord(
      at(n),
      answerXml(
        equityXml("A", {
          quote: { bidprice: text, askprice: text, lastprice: text, change: text, pctchange: text },
          extended: { delta: text, openprice: text, prevclose: text, priceearningsratio: text },
          dividend: { amt: text, exdate: "2026-12-01T00:00:00-05:00", yield: text },
        }),
      ),
    ),
  );
  await append(...records);
  await load();
  const rows = await rowsOfQuery(
    pool,
    `select bid, ask, last, change, pct_change, delta, open, previous_close, pe_ratio from quotes
     join extended_quotes using (instrument_id, observed_at, source_id) order by observed_at`,
  );
  return rows as Record<string, string | null>[];
}

/** The columns of `stored` that may be below zero. */
const SIGNED = ["change", "pct_change", "delta", "pe_ratio"];

test("a decimal of any digits, point and exponent comes out in every field, rounded to 23 places, or NULL from 10^15 on and for a price below zero", async () => {
  const given = [
    ...["0.0450", "61.40", "0.00", "1E+3", "-3.0E-6", "2.68E0", "1E-23"],
    "123456789012345.12345678901234567890123",
    ...fc.sample(
      fc
        .tuple(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.nat(30), fc.option(fc.integer({ min: -40, max: 40 })))
        .map(([digits, scale, exponent]) => {
          const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, "0");
          const point = scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`;
          return `${digits < 0n ? "-" : ""}${point}${exponent === null ? "" : `E${exponent}`}`;
        }),
      { numRuns: 300, seed: 7 },
    ),
  ];

  const rows = await stored(given);

  const { pool } = await loadingWorld();
  const held = await rowsOfQuery(
    pool,
    `select case when abs(r) < 1e15 then r::text end as last, r < 0 as below
     from unnest($1::text[]) with ordinality as g (t, n), round(t::numeric, 23) r order by n`,
    [given],
  );
  expect(rows.map((row) => Object.values(row).map(decimal))).toEqual(
    held.map(({ last, below }, n) =>
      Object.keys(rows[n] ?? {}).map((column) =>
        below === true && !SIGNED.includes(column) ? null : decimal(last as string | null),
      ),
    ),
  );
  expect(rows.slice(0, 8).map(({ change }) => decimal(change ?? null))).toEqual(
    given.slice(0, 8).map(decimal),
  );
  expect(rows.slice(0, 3).map(({ bid }) => bid)).toEqual(["0.0450", "61.40", "0.00"]);
});

test("no view of what was sent goes through a float", async () => {
  const { pool } = await loadingWorld();
  const rows = await rowsOfQuery(
    pool,
    `select c.relname || '.' || a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('v', 'r', 'p') and a.attnum > 0
       and a.atttypid in ('real'::regtype, 'double precision'::regtype)
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
     order by a.attnum`,
  );

  // Estimates, which no text came in for.
  const estimated =
    "years iv_bid iv_mid iv_ask delta gamma vega theta rho delta_difference iv_mid_difference gamma_difference theta_difference vega_difference rho_difference".split(
      " ",
    );
  expect(rows).toEqual(estimated.map((name) => ({ name: `option_surface.${name}` })));
});
