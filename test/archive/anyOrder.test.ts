/** Whatever comes first: the archive holds the same. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type pg from "pg";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { bodyOfRows, EXPORT_SOURCE, PIECE_COLUMNS, type PieceRow } from "../../src/read/exportCall.ts";
import type { PlainCall } from "../../src/read/plainCall.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { handOnDatabases } from "../support/database.ts";
import { answerRecord, at, symbolsCall } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";
import { runs } from "../support/runs.ts";
import { answerXml, equityXml, optionXml } from "../support/xml.ts";

handOnDatabases();

/** A piece of a plain table, of rows of its own times. */
function table(seconds: number, columns: string, ...lines: string[]): ResponseRecord {
  const rows = lines.map((line, place) => `${at(seconds + place)},${line}\n`);
  const request: PlainCall = { form: "plain", file: "quotes.csv", firstLine: 2, rows: rows.length };
  return {
    ...answerRecord(at(seconds), `observed_at,${columns}\n${rows.join("")}`),
    ...{ request, headers: {}, source: { kind: "import", name: "vendor" } },
  };
}

function exported(table: "instruments" | "quotes", seconds: number, rows: PieceRow[]): ResponseRecord {
  const request = { form: "export", table, columns: PIECE_COLUMNS[table], rows: rows.length } as const;
  return {
    ...answerRecord(at(seconds), ""),
    ...{ source: EXPORT_SOURCE, request, headers: {}, body: bodyOfRows(table, rows) },
  };
}

const WEEKLY = { underlying: "SPX", expiration: "2027-01-15", strike: "5000" };
const weekly = (change: Parameters<typeof optionXml>[1] = {}): string =>
  optionXml(WEEKLY, change).replace("<sym>SPX</sym></instrument>", "<sym>SPXW</sym></instrument>");
const bare = (xml: string): string => xml.replace(/<underlying>.*<\/undlyquote>/s, "");
const CONTRACT = "symbol,root,expiration,option_type,strike,last";
const OLD_CONTRACT: PieceRow = {
  ...{ security_type: "OPT", symbol: "SPXW", expiration: "2027-01-15", option_type: "CALL", strike: "5000" },
  ...{ source_kind: "account", source_name: "account" },
};

/** One piece for each way in which something of SPX, SPXW and BRK.B comes; no two of them have a quote of one time. */
const PIECES: Readonly<Record<string, ResponseRecord[]>> = {
  "options by their OCC symbols": [
    table(10, "instrument,last", "SPXW270115C05000000,61", "SPX270115C05000000,62", "BRKB270115C00400000,5"),
  ],
  "options with a column of roots": [
    table(20, CONTRACT, "SPX,SPXW,2027-01-15,CALL,5000,63", "SPX,SPX,2027-01-15,CALL,5000,64"),
  ],
  "options by their root alone": [
    table(30, CONTRACT, "SPXW,,2027-01-15,CALL,5000,65", "BRKB,,2027-01-15,CALL,400,6"),
  ],
  "stocks without a type": [table(40, "symbol,last", "SPX,5001", "BRK.B,401")],
  "stocks with a type": [
    table(50, "symbol,security_type,last,description", "SPX,IND,5002,INDEX", "BRK.B,CS,402,"),
  ],
  "an answer with a root and its underlying": [answerRecord(at(60), answerXml(weekly()))],
  "an answer without a description": [
    answerRecord(
      at(70),
      answerXml(bare(weekly({ extended: { contractsize: "" } })).replace(/<desc>.*?<\/desc>/s, "")),
    ),
  ],
  "an older answer with another description": [
    answerRecord(at(5), answerXml(bare(weekly()).replace(/<desc>.*?<\/desc>/s, "<desc>AS IT WAS</desc>"))),
  ],
  "a stock's own answer": [
    answerRecord(at(80), answerXml(equityXml("BRK.B")), { request: symbolsCall("BRK.B") }),
  ],
  "an export of an older version": [
    exported("instruments", 90, [
      { ...OLD_CONTRACT, id: "7", description: "OF OLD", first_seen_at: at(15), last_seen_at: at(16) },
    ]),
    exported("quotes", 91, [
      { ...OLD_CONTRACT, observed_at: at(15), delayed: "false", last: "60", extended: "false" },
    ]),
  ],
};

/** The archive without its numbers, which are given in the order of loading, and when what was loaded. */
async function contentOf(pool: pg.Pool): Promise<Record<string, unknown[]>> {
  const name = "instrument_name(i.symbol, i.expiration, i.option_type, i.strike, i.root)";
  const of = (table: string, order: string): string =>
    `select ${name} as instrument, s.name as source, to_jsonb(t) - 'instrument_id' - 'source_id' as row
     from ${table} t join instruments i on i.id = t.instrument_id join sources s on s.id = t.source_id order by 1, 2, ${order}`;
  const tables = {
    quotes: of("quotes", "t.observed_at"),
    extended: of("extended_quotes", "t.observed_at"),
    dividends: of("dividends", "t.observed_at"),
    sessionBars: of("session_bars", "t.date"),
    bars: of("bars_1m", "t.bar_at").replace(
      /join sources.*source_id/,
      "join sources s on s.name = t.source_name",
    ),
    instruments: `select ${name} as name, to_jsonb(i) - 'id' - 'underlying_id' as row, u.security_type, u.symbol as underlying
      from instruments i left join instruments u on u.id = i.underlying_id order by 1`,
    letters: "select instrument, reason, detail from dead_letters order by 1, 2, 3",
  };
  const content: Record<string, unknown[]> = {};
  for (const [table, sql] of Object.entries(tables)) content[table] = await rowsOfQuery(pool, sql);
  return content;
}

/** The archive after loads of some pieces each. */
async function loaded(loads: readonly (readonly string[])[]): Promise<Record<string, unknown[]>> {
  const { pool, append, load } = await loadingWorld();
  for (const pieces of loads) {
    await append(...pieces.flatMap((piece) => PIECES[piece] ?? []));
    await load();
  }
  return contentOf(pool);
}

const names = Object.keys(PIECES);

test("an archive holds the same in whatever order its pieces were loaded, each for itself or several together", async () => {
  const content = await loaded([names]);

  expect(content["instruments"]).toMatchObject([
    { name: "BRK.B", row: { security_type: "CS", type_assumed: false } },
    { name: "BRK.B:2027-01-15:CALL:400", underlying: "BRK.B" },
    { name: "SPX", row: { security_type: "IND", type_assumed: false } },
    { name: "SPX/SPXW:2027-01-15:CALL:5000", underlying: "SPX" },
    { name: "SPX:2027-01-15:CALL:5000", underlying: "SPX" },
  ]);
  expect(content["letters"]).toEqual([]);
  const anyOrder = fc
    .shuffledSubarray(names, { minLength: names.length })
    .chain((order) =>
      fc.tuple(fc.constant(order), fc.array(fc.nat({ max: names.length }), { maxLength: 9 })),
    );
  await fc.assert(
    fc.asyncProperty(anyOrder, async ([order, cuts]) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), order.length];
      const loads = places.slice(1).map((to, place) => order.slice(places[place], to));
      expect(await loaded(loads.filter((load) => load.length > 0))).toEqual(content);
    }),
    { numRuns: runs(12) },
  );
});

test("an archive holds the same whichever of its options and stocks came first", async () => {
  for (const [first, second] of [
    ["options by their OCC symbols", "stocks with a type"],
    ["options with a column of roots", "stocks without a type"],
  ] as const) {
    const right = await loaded([[second], [first]]);

    expect(await loaded([[first], [second]])).toEqual(right);
    const linked = right["instruments"]?.map((row) => (row as { underlying: string | null }).underlying);
    expect(linked?.filter((underlying) => underlying !== null)).toHaveLength(first.includes("OCC") ? 3 : 2);
  }
});

test("of two descriptions that answers of one time say, the greater one stays, whichever is read first", async () => {
  const saying = (name: string, desc: string): ResponseRecord => ({
    ...answerRecord(at(0), answerXml(equityXml("A", { instrument: { desc } })), {
      request: symbolsCall("A"),
    }),
    source: { kind: "account", name },
  });
  const records = [saying("account", "ALPHA"), saying("other", "BETA")];

  const kept = [];
  for (const order of [records, records.toReversed()]) {
    const world = await loadingWorld();
    await world.append(...order);
    await world.load();
    kept.push(...(await rowsOfQuery(world.pool, "select description from instruments")));
  }

  expect(kept).toEqual([{ description: "BETA" }, { description: "BETA" }]);
});
