/** What the database holds of answers, read back by the instants of their arrival. */
import type pg from "pg";
import { dividendOf, unitName } from "../../../src/read/answerToRows.ts";
import type { AnswerRows, QuoteUnit } from "../../../src/read/rowTypes.ts";

/** What one instant has in the tables. */
export type StoredAnswer = {
  /** `segment offset requestId`, one for each row of `responses`. */
  responses: string[];
  /** `name bid ask last volume`, one for each row of `quotes`, the volume from `extended_quotes`. */
  quotes: string[];
  /** `name openInterest date`, one for each row of `extended_quotes` without one of `quotes`. */
  interests: string[];
  /** `name amount exDate yield`. */
  dividends: string[];
};

/** Rows of whole tables. */
export type RowCounts = {
  responses: number;
  quotes: number;
  extended: number;
  dividends: number;
  deadLetters: number;
};

const NAME = `i.symbol || coalesce(':' || i.expiration || ':' || i.option_type || ':' || trim_scale(i.strike), '')`;

/** The instant as the program writes it, with microseconds. */
const AT = (column: string): string => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** @returns by instant; instants without rows are left out */
export async function readStored(
  client: pg.ClientBase,
  instants: readonly string[],
): Promise<Map<string, StoredAnswer>> {
  const stored = new Map<string, StoredAnswer>();
  const of = (at: string): StoredAnswer => {
    const answer = stored.get(at) ?? { responses: [], quotes: [], interests: [], dividends: [] };
    stored.set(at, answer);
    return answer;
  };
  const ask = async (
    kind: keyof StoredAnswer,
    columns: string,
    from: string,
    where = "true",
  ): Promise<void> => {
    const { rows } = await client.query<{ at: string; text: string }>(
      `select ${AT("t.observed_at")} as at, ${columns} as text from ${from}
       where t.observed_at = any ($1::timestamptz[]) and t.observed_at between $2 and $3 and ${where}`,
      [instants, instants[0], instants.at(-1)],
    );
    for (const { at, text } of rows) of(at)[kind].push(text);
  };
  await ask("responses", "concat_ws(' ', journal_segment, journal_offset, request_id)", "responses t");
  await ask(
    "quotes",
    `concat_ws(' ', ${NAME}, t.bid, t.ask, t.last, e.volume)`,
    `quotes t join instruments i on i.id = t.instrument_id left join extended_quotes e
       on e.instrument_id = t.instrument_id and e.observed_at = t.observed_at and e.source_id = t.source_id`,
  );
  await ask(
    "interests",
    // By name: a database that is being migrated may not have the columns yet.
    `concat_ws(' ', ${NAME}, to_jsonb(t) ->> 'open_interest', to_jsonb(t) ->> 'open_interest_date')`,
    `extended_quotes t join instruments i on i.id = t.instrument_id left join quotes q
       on q.instrument_id = t.instrument_id and q.observed_at = t.observed_at and q.source_id = t.source_id
         and q.observed_at = any ($1::timestamptz[]) and q.observed_at between $2 and $3`,
    "q.observed_at is null",
  );
  await ask(
    "dividends",
    `concat_ws(' ', ${NAME}, t.amount, t.ex_date, t.yield)`,
    "dividends t join instruments i on i.id = t.instrument_id",
  );
  return stored;
}

const joined = (values: readonly (string | null)[]): string =>
  values.filter((value) => value !== null).join(" ");

/** Open interest alone has no row of `quotes`. */
const isAlone = ({ interestOnly }: QuoteUnit): boolean => interestOnly === true;
const hasQuote = (unit: QuoteUnit): boolean => !isAlone(unit);

/** How many rows of `quotes` units have. */
export function quotesOf(units: readonly QuoteUnit[]): number {
  return units.filter(hasQuote).length;
}

/** What does not hold of an answer's row and of its quotes, in words. */
export function answerFindings(
  { record, position, units }: AnswerRows,
  found: StoredAnswer | undefined,
): string[] {
  const at = `${position.segment} at ${position.offset}`;
  const { responses, quotes, interests } = found ?? { responses: [], quotes: [], interests: [] };
  const expected = units.filter(hasQuote).map((unit) => {
    const { bid, ask, last, extended } = unit.quote;
    return joined([unitName(unit), bid, ask, last, extended.volume]);
  });
  const alone = units.filter(isAlone).map((unit) => {
    const { openInterest, openInterestDate } = unit.quote.extended;
    return joined([unitName(unit), openInterest, openInterestDate]);
  });
  const isPlaced = responses.join("\n") === `${position.segment} ${position.offset} ${record.requestId}`;
  const isWhole = quotes.toSorted().join("\n") === expected.toSorted().join("\n");
  const areAlone = interests.toSorted().join("\n") === alone.toSorted().join("\n");
  return [
    ...(isPlaced ? [] : [`${at}: the table responses has ${JSON.stringify(responses)} for it`]),
    ...(isWhole ? [] : [`${at}: ${quotes.length} of ${expected.length} quotes are stored as they came`]),
    ...(areAlone
      ? []
      : [`${at}: ${interests.length} of ${alone.length} open interests are stored as they came`]),
  ];
}

/** `amount exDate yield` of a quote's dividend; null: it says none. */
export function dividendText({ quote }: QuoteUnit): string | null {
  const dividend = dividendOf(quote);
  return dividend && joined([dividend.amount, dividend.exDate, dividend.yield]);
}

/** How many rows the tables have. */
export async function countRows(client: pg.ClientBase): Promise<RowCounts> {
  const { rows } = await client.query<RowCounts>(
    `select (select count(*)::int from responses) as responses, (select count(*)::int from quotes) as quotes,
            (select count(*)::int from extended_quotes) as extended, (select count(*)::int from dividends) as dividends,
            (select count(*)::int from dead_letters) as "deadLetters"`,
  );
  return rows[0] as RowCounts;
}

/** How far each segment is loaded. */
export async function readPositions(client: pg.ClientBase): Promise<Map<string, number>> {
  const { rows } = await client.query<{ segment: string; loaded_to: string }>(
    "select segment, loaded_to from journal_positions",
  );
  return new Map(rows.map(({ segment, loaded_to }) => [segment, Number(loaded_to)]));
}
