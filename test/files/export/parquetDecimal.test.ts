import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { valueReader } from "../../../src/files/tables/copiedRows.ts";
import { COMMON_DECIMAL, type DecimalType, widerThan } from "../../../src/files/tables/parquetDecimal.ts";
import { HELD_DIGITS } from "../../../src/quotes/decimal.ts";
import { freshDatabase } from "../../support/database.ts";

/** What a text says, times 10^scale; null where it has more digits, or is no number. */
function scaled(text: string, { precision, scale }: DecimalType): bigint | null {
  const [, minus = "", whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d*?)0*)?$/.exec(text) ?? [];
  if (whole === "" || fraction.length > scale) return null;
  const value = BigInt(`${minus}${whole}${fraction.padEnd(scale, "0")}`);
  return value.toString().replace("-", "").length > precision ? null : value;
}

test("a column whose type is too narrow comes to eight places, then to 38 digits, of which as many as an archive holds are behind the point", () => {
  const types = [{ precision: 18, scale: 4 }];
  for (let type = widerThan(types[0] as DecimalType); type !== null; type = widerThan(type)) types.push(type);

  expect(types.map(({ precision, scale }) => `${precision},${scale}`)).toEqual([
    "18,4",
    "18,8",
    "38,18",
    `${HELD_DIGITS.whole + HELD_DIGITS.fraction},${HELD_DIGITS.fraction}`,
  ]);
  expect(widerThan({ precision: 38, scale: 12 })).toEqual({ precision: 38, scale: 18 });
});

test("PostgreSQL's binary decimals are read as the numbers that its text says", async () => {
  const digits = fc.stringMatching(/^\d{1,24}$/);
  const decimals = fc.tuple(fc.boolean(), digits, fc.stringMatching(/^\d{0,20}$/));
  const sample = fc
    .sample(decimals, 3_000)
    .map(([minus, whole, part]) => `${minus ? "-" : ""}${whole}.${part}0`);
  const edges = [
    "0",
    "-0.00000001",
    "90071992.54740991",
    "90071992.54740992",
    "99999999.99999999",
    "0.000000001",
    "9999999999.99999999",
    "0.123456780000",
    "10000000000",
    "-10000000000",
  ];
  const { pool } = await freshDatabase({ migrated: false });

  const { rows } = await pool.query<{ text: string; bytes: Buffer }>(
    "select n::text as text, numeric_send(n) as bytes from unnest($1::numeric[]) n",
    [[...sample, ...edges, "1e20", "1e-12", "NaN", "Infinity", "-Infinity"]],
  );

  const types = [COMMON_DECIMAL, { precision: 18, scale: 4 }, { precision: 38, scale: 18 }];
  for (const type of types) {
    let tooWide = 0;
    const read = valueReader({ name: "bid", kind: "decimal" }, type, () => (tooWide += 1));
    const values = rows.map(({ bytes }) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      return read({ bytes, view, places: new Int32Array(0), count: 1 }, 0);
    });

    expect(values).toEqual(rows.map(({ text }) => scaled(text, type)));
    expect(values.filter((value) => value !== null).length).toBeGreaterThan(5);
    expect(tooWide).toBe(values.filter((value) => value === null).length);
  }
});
