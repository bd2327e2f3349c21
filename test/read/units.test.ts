/** A number with a sign of its unit, a currency or an account: each reader reads it by the table of units, or refuses it. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { canonicalDecimal } from "../../src/quotes/decimal.ts";
import type { Quote, ReadItem } from "../../src/quotes/document.ts";
import { DIVIDEND_FIELDS, NUMBER_FIELDS } from "../../src/quotes/fields.ts";
import { numberParts, UNITS } from "../../src/quotes/units.ts";
import { quoteOf } from "../../src/services/etrade/etradeQuote.ts";
import { readItem } from "../../src/services/jsonItem.ts";
import { type JsonObject, parseJson } from "../../src/services/json.ts";
import { readDocument } from "../../src/services/reference/readDocument.ts";
import { readTradier } from "../../src/services/tradier/readTradier.ts";
import { runs } from "../support/runs.ts";
import { decimal } from "../support/secondOpinion.ts";
import { answerXml, equityXml, optionXml, type Texts } from "../support/xml.ts";
import { readRow } from "./plainPiece.ts";

/** The number as one text for all its spellings; null: none; or that it is refused. */
type Read = string | null;

const REFUSED = "refused";

/** By door and field: what a text there is read as. A door has only the fields that its service sends. */
type Door = (text: string) => Read;

const COLUMNS = [...NUMBER_FIELDS, ...DIVIDEND_FIELDS].filter(({ unit }) => unit in UNITS);
const KINDS = new Map<string, { unit: string; signed?: true }>(COLUMNS.map((one) => [one.name, one]));

function valueIn({ extended, ...prices }: Quote, field: string): Read {
  const values: Record<string, unknown> = { ...extended.dividend, ...extended, ...prices };
  const value = (values[field] ?? null) as string | null;
  return value === null ? null : canonicalDecimal(value);
}

function fromItem(item: ReadItem | undefined, field: string): Read {
  if (!item?.ok) throw new Error(item?.problem);
  return item.oddFields.length > 0 ? REFUSED : valueIn(item.item.quote, field);
}

function plainDoor(field: string, column: string): Door {
  const other = field === "last" ? "bid" : "last";
  return (text) => {
    const { unit, problem } = readRow({ instrument: "A", [other]: "1", [column]: text });
    return problem !== undefined || unit === undefined ? REFUSED : valueIn(unit.quote, field);
  };
}

function xmlDoor({ name, element, of }: { name: string; element?: string; of?: string }): Door {
  return (text) => {
    const isPrice = /^(bid|ask|last|change|pctChange)$/.test(name);
    const texts: Texts = { [element ?? ""]: text };
    const parts = isPrice ? { quote: texts } : { extended: texts };
    const dividend = name === "amount" || name === "yield" ? { dividend: texts } : parts;
    const item = of === "option" ? optionXml({}, parts) : equityXml("A", dividend);
    return fromItem(readDocument(Buffer.from(answerXml(item))).items[0], name);
  };
}

const CONTRACT = {
  ...{ symbol: "AAPL261218C00150000", type: "option", underlying: "AAPL", option_type: "call" },
  ...{ root_symbol: "AAPL", expiration_date: "2026-12-18", strike: 150 },
};

const GREEKS = ["delta", "gamma", "theta", "vega", "rho"];

const TRADIER_KEYS: Record<string, string> = {
  ...{ bid: "bid", ask: "ask", last: "last", change: "change", pctChange: "change_percentage" },
  ...{ bidSize: "bidsize", askSize: "asksize", open: "open", high: "high", low: "low", volume: "volume" },
  ...{ previousClose: "prevclose", high52Week: "week_52_high", low52Week: "week_52_low" },
  ...{ averageVolume: "average_volume", contractSize: "contract_size", openInterest: "open_interest" },
  ...{ impliedVolatility: "mid_iv", bidIv: "bid_iv", askIv: "ask_iv" },
  ...Object.fromEntries(GREEKS.map((name) => [name, name])),
};

function tradierDoor(field: string): Door | null {
  const key = TRADIER_KEYS[field];
  if (key === undefined) return null;
  const isGreek = GREEKS.includes(field) || key.endsWith("_iv");
  return (text) => {
    const said = isGreek ? { greeks: { [key]: text } } : { [key]: text };
    const body = JSON.stringify({ quotes: { quote: { ...CONTRACT, ...said } } });
    return fromItem(readTradier(parseJson(Buffer.from(body)) as JsonObject, null).items[0], field);
  };
}

const ETRADE_KEYS: Record<string, string> = {
  ...{ bid: "bid", ask: "ask", last: "lastTrade", change: "changeClose", pctChange: "changeClosePercentage" },
  ...{ bidSize: "bidSize", askSize: "askSize", open: "open", high: "high", low: "low" },
  ...{ volume: "totalVolume", previousClose: "previousClose", high52Week: "high52", low52Week: "low52" },
  ...{ averageVolume: "averageVolume", contractSize: "contractSize", openInterest: "openInterest" },
  ...{ earningsPerShare: "eps", peRatio: "pe", amount: "dividend", yield: "yield", impliedVolatility: "iv" },
  ...Object.fromEntries(GREEKS.map((name) => [name, name])),
};

function etradeDoor(field: string): Door | null {
  const key = ETRADE_KEYS[field];
  if (key === undefined) return null;
  const isEquity = /^(earningsPerShare|peRatio|amount|yield)$/.test(field);
  const contract = {
    securityType: "OPTN",
    callPut: "CALL",
    expiryYear: 2026,
    expiryMonth: 12,
    expiryDay: 18,
  };
  const product = isEquity ? { securityType: "EQ" } : { ...contract, strikePrice: 150 };
  const isGreek = GREEKS.includes(field) || key === "iv";
  return (text) => {
    const said = isGreek ? { OptionGreeks: { [key]: text } } : { [key]: text };
    const json = { Product: { symbol: "AAPL", ...product }, All: { lastTrade: 1, ...said } };
    return fromItem(readItem(parseJson(Buffer.from(JSON.stringify(json))), quoteOf, null), field);
  };
}

/** What stands before and behind digits, in all orders that people write. */
const written = fc
  .tuple(
    fc.constantFrom("", "", "", "-", "+", "\u2212", "(", "(-", "- ", "-\u2212", "$", "\u2013"),
    fc.oneof(
      fc.constantFrom("28.35", "1,234.50", "0,123", "1.5E2", "0.05", ".5", "5.", "0", "999", "1e-3", "12,34"),
      fc.stringMatching(/^\d{1,18}(\.\d{0,25})?$/),
      fc.stringMatching(/^[\d.,eE%]{0,6}$/),
    ),
    fc.constantFrom("", "", "", "%", " %", ")", "%)", ")%", ") %", "%%", "-", "K", "\u2030"),
  )
  .map((parts) => parts.join(""));

/** What a text is as a column, reckoned by other means than the program's: BigInt in place of moved points. */
function expected(field: string, text: string): Read {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const account = /^\((.*)\)( ?%)?$/.exec(trimmed);
  const [, inside = trimmed, behind = ""] = account ?? [];
  const percent = /^(.*?) ?%$/.exec(inside);
  if (percent !== null && behind !== "") return REFUSED;
  const body = (percent?.[1] ?? inside).replace(/^\u2212/, "-");
  if (account !== null && /^[-+]/.test(body)) return REFUSED;
  if (!/^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$|^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(body))
    return REFUSED;
  const { unit, signed } = KINDS.get(field) ?? { unit: "" };
  const hasPercent = percent !== null || behind !== "";
  if (hasPercent && !/^(percent|fraction|own)$/.test(unit)) return REFUSED;
  const power = hasPercent && unit === "fraction" ? -2 : 0;
  const [mantissa = "", exponent = "0"] = body.replaceAll(",", "").toLowerCase().split("e");
  const sign = account === null ? "" : "-";
  const exact = decimal(`${sign}${mantissa}e${Number(exponent) + power}`);
  const [, minus = "", digits = "0", e = "0"] = /^(-?)(\d+)e(-?\d+)$/.exec(exact ?? "") ?? [];
  if (unit === "count") {
    if (Number(e) < 0 || (minus === "-" && digits !== "0")) return REFUSED;
    const count = BigInt(digits) * 10n ** BigInt(e);
    return count > 2n ** 63n - 1n ? REFUSED : String(count);
  }
  const units = BigInt(digits) * 10n ** BigInt(Math.max(Number(e) + 24, 0));
  const held = (units + 5n) / 10n;
  if (minus === "-" && held !== 0n && signed !== true) return REFUSED;
  if (held >= 10n ** 38n) return REFUSED;
  return canonicalDecimal(`${minus}${held}E-23`);
}

/** The service's own word for "nothing": another text is meant by it than the number says. */
const isNothing = (value: Read): boolean => value === "0";

function doorsOf(column: (typeof COLUMNS)[number]): [string, Door][] {
  const isPlain = NUMBER_FIELDS.some(({ name }) => name === column.name);
  const doors: [string, Door | null][] = [
    ["CSV", isPlain ? plainDoor(column.name, column.column) : null],
    ["XML", "element" in column ? xmlDoor(column) : null],
    ["Tradier", tradierDoor(column.name)],
    ["E*TRADE", etradeDoor(column.name)],
  ];
  return doors.filter((door): door is [string, Door] => door[1] !== null);
}

describe("each reader takes the same text for the same number, or refuses it", () => {
  test.each(COLUMNS.map((column) => [column.name, column] as const))("as %s", (field, column) => {
    const doors = doorsOf(column);
    expect(doors).not.toEqual([]);
    fc.assert(
      fc.property(written, (text) => {
        const value = expected(field, text);
        for (const [door, read] of doors)
          if (!isNothing(value) || /^(CSV|XML)$/.test(door))
            expect([door, read(text)]).toEqual([door, value]);
      }),
      { numRuns: runs(150) },
    );
  });
});

test.each([
  ["impliedVolatility", "28.35%", "0.2835"],
  ["delta", "(45 %)", "-0.45"],
  ["bidIv", "1,234.50%", "12.345"],
  ["askIv", "1.5E1%", "0.15"],
  ["pctChange", "\u221210.95%", "-10.95"],
  ["change", "(0.05)", "-0.05"],
  ["theta", "\u22120.15", "-0.15"],
  ["yield", "2.00%", "2"],
  ["last", "-999", REFUSED],
  ["bid", "5%", REFUSED],
  ["volume", "10%", REFUSED],
  ["amount", "(0.05)", REFUSED],
])("as %s each reader reads %s as %s", (field, text, value) => {
  const column = COLUMNS.find(({ name }) => name === field) as (typeof COLUMNS)[number];

  for (const [door, read] of doorsOf(column)) expect([door, read(text)]).toEqual([door, value]);
});

test("a price below zero costs itself alone in a row of CSV; a price with a percent sign costs the row", () => {
  const below = readRow({ instrument: "A", bid: "-999", last: "12.5" });
  const percent = readRow({ instrument: "A", bid: "5%", last: "12.5" });

  expect(below.unit?.quote).toMatchObject({ bid: null, last: "12.5" });
  expect(below.problem).toBe('bid is "-999": "-999" is below zero');
  expect(percent.unit).toBeUndefined();
  expect(percent.problem).toBe('bid is "5%": "5%" has a percent sign, and the column holds dollars');
});

test.each(["250%", "(250)", "\u2212250", "-250", "$250", "0,250"])(
  "a row of CSV has no strike of %s",
  (strike) => {
    const contract = { symbol: "A", expiration: "2026-12-18", option_type: "CALL", strike, last: "1" };

    expect(readRow(contract).problem).toBe(`strike is ${JSON.stringify(strike)}: expected a strike`);
  },
);

test.each(["250%", "(250)", "-250"])("an option of an answer has no strike of %s", (strike) => {
  const [xml] = readDocument(Buffer.from(answerXml(optionXml({ strike })))).items;
  const json = { quotes: { quote: { ...CONTRACT, strike } } };
  const [tradier] = readTradier(parseJson(Buffer.from(JSON.stringify(json))) as JsonObject, null).items;

  expect([xml?.ok, tradier?.ok]).toEqual([false, false]);
});

test.each(["SPXW%", "(SPXW)", "SPX W", "SPXW 5%"])("a row of CSV has no root of %s", (root) => {
  const contract = {
    symbol: "SPX",
    expiration: "2026-12-18",
    option_type: "CALL",
    strike: "6050",
    last: "1",
    root,
  };

  expect(readRow(contract).problem).toContain("expected the root of an OCC symbol");
});

test("a text of any length is taken apart in a moment", () => {
  expect(numberParts(`1${" ".repeat(8_000_000)}x`)).toBeNull();
});

test("docs/columns.md shows the unit of each column of numbers", () => {
  const page = readFileSync(fileURLToPath(new URL("../../docs/columns.md", import.meta.url)), "utf8");

  for (const { column, unit, ...rest } of COLUMNS) {
    const shown = `${unit === "own" ? "the service's own" : unit}${"signed" in rest ? ", signed" : ""}`;
    expect(page).toMatch(new RegExp(`^\\| \`${column}\` +\\|[^|]+\\| ${shown} +\\|`, "m"));
  }
});
