/** Vendors' files through their maps, without a database: what the plain reader is given. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "@jest/globals";
import { instrumentName, option, readContractName } from "../../../src/market/instrument.ts";
import { canonicalDecimal } from "../../../src/quotes/decimal.ts";
import { fileOf, mapped } from "./maps.ts";

const RECORDED = new URL("../../backfill/csv/recorded/", import.meta.url).pathname;
const MAPS = new URL("../../../docs/maps/", import.meta.url).pathname;

type Row = Record<string, string | null>;

const VALUES = [
  ...[
    "bid",
    "ask",
    "open",
    "high",
    "low",
    "last",
    "volume",
    "bid_size",
    "ask_size",
    "contract_size",
    "delta",
  ],
  ...["open_interest", "implied_volatility", "gamma", "theta", "vega", "rho"],
];

const shipped = readdirSync(MAPS).map((file) => basename(file, ".sql"));

test.each(shipped)("a file in the shape of %s becomes its quotes by the map that ships", async (vendor) => {
  const { rows: expected, letters } = JSON.parse(
    readFileSync(join(RECORDED, vendor, "rows.json"), "utf8"),
  ) as {
    rows: string[];
    letters: string[];
  };

  const { rows, refused } = await mapped(readFileSync(join(MAPS, `${vendor}.sql`), "utf8"), [
    join(RECORDED, vendor, "quotes.csv"),
  ]);

  const read = rows.map((row) => ({ row, why: whyRefused(row) }));
  expect(new Set(read.flatMap(({ row, why }) => (why === null ? [inWords(row)] : [])))).toEqual(
    new Set(expected.map(canonical)),
  );
  const reasons = read.flatMap(({ why }) => why ?? []);
  expect(reasons).toHaveLength(letters.length);
  reasons.forEach((reason, at) => expect(letters[at]).toContain(reason));
  expect(refused).toEqual([]);
});

const [, PAGE = ""] = readFileSync("docs/backfill-csv.md", "utf8").split("## Maps for vendors' files");

test("a map ships for each recorded shape, and docs/backfill-csv.md lists it", () => {
  expect(new Set(shipped)).toEqual(new Set(readdirSync(RECORDED)));
  expect(shipped.filter((name) => !PAGE.includes(`maps/${name}.sql`))).toEqual([]);
});

test("the map that docs/backfill-csv.md shows reads the file that stands before it", async () => {
  const block = (of: string): string => new RegExp(`\`\`\`${of}\\n(.*?)\`\`\``, "su").exec(PAGE)?.[1] ?? "";

  const { rows } = await mapped(block("sql"), [fileOf(block("csv"))]);

  expect(
    rows.map(({ instrument, observed_at, bid, last, volume }) => [
      instrument,
      observed_at,
      bid,
      last,
      volume,
    ]),
  ).toEqual([
    ["AAPL", "2026-11-18T14:30:00.000000Z", "150.10", "150.11", "1200"],
    ["MSFT", "2026-11-18T14:30:00.000000Z", null, "300.00", "800"],
    ["AAPL", "2026-11-18T14:31:00.000000Z", "150.20", "150.21", "2400"],
  ]);
});

/** What the plain reader would refuse of a row of these files. */
function whyRefused(row: Row): string | null {
  const { observed_at: at, instrument } = row;
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/u.test(at ?? "")) return at ?? "";
  if (instrument?.startsWith("O:")) return instrument;
  return VALUES.some((name) => row[name]) ? null : "it has no value";
}

/** A row as `rows.json` has it. */
function inWords(row: Row): string {
  const at = row.observed_at?.replace("T", " ").replace("Z", "") ?? "";
  const values = VALUES.flatMap((name) => row[name] ?? []);
  return canonical([at, nameOf(row).replaceAll(":", " "), "f", ...values].join(" "));
}

function nameOf({ instrument, symbol, root, expiration, option_type: type, strike }: Row): string {
  if (!instrument)
    return instrumentName(
      option({
        underlying: symbol ?? "",
        root: root ?? undefined,
        expiration: expiration ?? "",
        optionType: type as "CALL",
        strike: strike ?? "",
      }),
    );
  const named = readContractName(instrument);
  return typeof named === "string" ? instrument : instrumentName(option(named));
}

function canonical(line: string): string {
  return line
    .split(" ")
    .map((word) => (/^-?\d+(\.\d+)?$/u.test(word) ? canonicalDecimal(word) : word))
    .join(" ");
}
