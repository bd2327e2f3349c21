import { describe, expect, test } from "@jest/globals";
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

describe("a decimal comes out equal to the text that came in", () => {
  const texts = [
    "0.0450",
    "1E+3",
    "-3.0E-6",
    "123456789012345.12345678901234567890123",
    "0.00000000000000000000001",
    "-99999999999999.9999999999999999",
    "61.40",
    "2.68E0",
    "0.00",
    "1E-23",
  ];

  test("a decimal comes out equal to the text that came in, in every field, whatever its form and length", async () => {
    const rows = await stored(texts);

    expect(rows).toHaveLength(texts.length);
    rows.forEach((row, n) => {
      for (const [column, value] of Object.entries(row))
        expect({ column, value: decimal(value) }).toEqual({ column, value: decimal(texts[n] ?? "") });
    });
    expect(rows[0]).toMatchObject({ bid: "0.0450", last: "0.0450" });
    expect(rows[6]).toMatchObject({ bid: "61.40" });
    expect(rows[8]).toMatchObject({ bid: "0.00" });
  });

  test("a decimal of any digits, point and exponent comes out rounded to 23 places, or NULL from 10^15 on", async () => {
    const given = fc.sample(
      fc
        .tuple(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.nat(30), fc.option(fc.integer({ min: -40, max: 40 })))
        .map(([digits, scale, exponent]) => {
          const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, "0");
          const point = scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`;
          return `${digits < 0n ? "-" : ""}${point}${exponent === null ? "" : `E${exponent}`}`;
        }),
      { numRuns: 300, seed: 7 },
    );

    const rows = await stored(given);

    const { pool } = await loadingWorld();
    const held = await rowsOfQuery(
      pool,
      `select case when abs(r) < 1e15 then r::text end as last
       from unnest($1::text[]) with ordinality as g (t, n), round(t::numeric, 23) r order by n`,
      [given],
    );
    expect(rows.map(({ last }) => decimal(last ?? null))).toEqual(
      held.map(({ last }) => decimal(last as string | null)),
    );
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
    const estimated = "years iv_bid iv_mid iv_ask delta gamma vega theta rho delta_difference".split(" ");
    expect(rows).toEqual(estimated.map((name) => ({ name: `option_surface.${name}` })));
  });
});

test("a yield of 4.9E-324 becomes NULL, in whatever form; another small one is rounded", async () => {
  const { pool, append, load } = await loadingWorld();
  const dividend = (n: number, text: string) =>
    answerRecord(at(n), answerXml(equityXml("A", { dividend: { amt: String(n), yield: text } })));
  await append(
    dividend(1, "4.9E-324"),
    dividend(2, "4.90E-324"),
    dividend(3, "4.8E-324"),
    dividend(4, "0.52"),
  );
  await load();

  const rows = await rowsOfQuery(pool, "select yield from dividends order by observed_at");
  expect(rows.map((row) => decimal(row["yield"] as string | null))).toEqual([null, null, "0", "52e-2"]);
});

test("volumes above 2^53 survive, in the rows, the newest quotes and the daily bars", async () => {
  const { pool, append, load } = await loadingWorld();
  const volume = "9007199254740993";
  const extended = { volume, bidsize: "9223372036854775807", asksize: "1,000" };
  await append(answerRecord(at(0), answerXml(equityXml("A", { extended }))));
  await load();

  expect(await rowsOfQuery(pool, "select volume, bid_size, ask_size from extended_quotes")).toEqual([
    { volume, bid_size: "9223372036854775807", ask_size: "1000" },
  ]);
  expect(
    await rowsOfQuery(pool, "select l.volume as latest, b.volume as bar from latest_quotes l, bars_1d b"),
  ).toEqual([{ latest: volume, bar: volume }]);
});
