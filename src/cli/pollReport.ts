/** What `quotekeeper poll` prints: a table or JSON, and what is wrong with what was asked for. */
import { z } from "zod";
import { decimalText, instant } from "../ground/jsonWords.ts";
import type { PrintJson } from "./command.ts";
import type { QuoteLine } from "../archive/ask/dashboardTypes.ts";
import { errorOf } from "../services/registry.ts";
import { ERRORS, QuotekeeperError } from "../ground/errors.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import type { OnceAnswer } from "../collector/once/onceJournal.ts";
import { byDecimal } from "../market/strikesAround.ts";
import { canonicalDecimal } from "../quotes/decimal.ts";
import { rowsOf, unitName } from "../read/answerToRows.ts";
import { matchCall, type MatchedItem } from "../quotes/match.ts";
import { decidedFates } from "../collect/pages.ts";
import { describeCall, type QuoteCall } from "../quotes/call.ts";
import type { Edges } from "../ground/edges.ts";
import { right, table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";
import { price as priceText, pricePlaces, signed, thousands } from "../ground/figures.ts";

const price = decimalText.nullable();

const quoteLine = z.strictObject({
  instrument: z.string(),
  description: z.string().nullable(),
  source: z.enum(["account", "simulated", "import"]),
  delayed: z.boolean(),
  observedAt: instant,
  bid: price,
  ask: price,
  last: price,
  change: price,
  pctChange: price,
  bidSize: price,
  askSize: price,
  volume: price,
  delta: price,
});

export const pollJson = z.strictObject({
  quotes: z.array(quoteLine),
  errors: z.array(
    z.strictObject({
      code: z.string(),
      message: z.string(),
      detail: z.string(),
      hint: z.string(),
    }),
  ),
});

type ReportInput = {
  /** Names of quotes that the database has refused, as far as it could be asked. */
  refused: ReadonlySet<string>;
  guesses: ReadonlyMap<string, string>;
  /** What went wrong besides. */
  problems: readonly QuotekeeperError[];
  edges: Edges;
  printJson: PrintJson<typeof pollJson>;
};

/** Prints the quotes and what is wrong. @returns 0 when every instrument asked for was stored, 1 otherwise */
export function reportPoll(
  answers: readonly OnceAnswer[],
  { refused, guesses, problems: others, edges, printJson }: ReportInput,
): number {
  const lines = linesOf(answers).filter(({ instrument }) => !refused.has(instrument));
  const matched = answers.map(matchedOf);
  const problems = [
    ...answers.flatMap(({ answer, record }) =>
      answer.outcome === "quotes" ? [] : [errorOf(answer, record)],
    ),
    ...answers.flatMap((one, place) => problemsOf(one, matched[place] ?? null, { refused, guesses })),
    ...others,
  ];
  if (printJson) {
    const errors = problems.map(({ code, message, detail }) => {
      return { code, message, detail, hint: ERRORS[code].hint };
    });
    printJson({ quotes: lines, errors });
  } else if (lines.length > 0) edges.stdout.write(quoteTable(lines, edges));
  if (!printJson) for (const { message } of problems) say(edges.stderr, message);
  for (const line of matched.flatMap((one) => one?.flatMap(oddFieldsOf) ?? [])) say(edges.stderr, line);
  return problems.length > 0 ? 1 : 0;
}

/** The quotes of answers, by symbol and contract. */
export function linesOf(answers: readonly OnceAnswer[]): QuoteLine[] {
  const all = answers.flatMap(({ record, ...place }) =>
    rowsOf(record, place).units.map((unit) => ({ unit, source: record.source.kind })),
  );
  all.sort(
    ({ unit: { instrument: a } }, { unit: { instrument: b } }) =>
      compare(a.symbol, b.symbol) ||
      compare(a.expiration ?? "", b.expiration ?? "") ||
      byDecimal(a.strike ?? "0", b.strike ?? "0") ||
      compare(a.optionType ?? "", b.optionType ?? "") ||
      compare(a.root ?? "", b.root ?? ""),
  );
  return all.map(({ unit, source }) => {
    const { observedAt, delayed, instrument, quote, greeksDelta } = unit;
    const { bid, ask, last, change, pctChange, extended } = quote;
    const { bidSize, askSize, volume } = extended;
    const numbers = { bid, ask, last, change, pctChange, bidSize, askSize, volume, delta: greeksDelta };
    return {
      instrument: unitName(unit),
      description: instrument.description,
      source,
      delayed,
      observedAt,
      ...mapped(numbers, (number) => number && (/e/i.test(number) ? canonicalDecimal(number) : number)),
    };
  });
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

function mapped<Key extends string>(
  numbers: Record<Key, string | null>,
  how: (number: string | null) => string | null,
): Record<Key, string | null> {
  return Object.fromEntries(
    Object.entries<string | null>(numbers).map(([key, number]) => [key, how(number)]),
  ) as Record<Key, string | null>;
}

function matchedOf({ record, answer }: OnceAnswer): readonly MatchedItem[] | null {
  if (answer.outcome !== "quotes") return null;
  return decidedFates(matchCall(record.request as QuoteCall, answer.document.items), answer.document);
}

export function unknownIn(answer: OnceAnswer): string[] {
  return matchedOf(answer)?.flatMap((match) => (match.fate === "unknown" ? [match.name] : [])) ?? [];
}

/** The fields of a stored quote that could not be read, a line each. */
function oddFieldsOf(match: MatchedItem): string[] {
  if (match.fate !== "stored") return [];
  return match.oddFields.map(
    ({ problem }) => `${match.name} is stored without one field: ${problem} (table dead_letters)`,
  );
}

type ReportHints = { refused: ReadonlySet<string>; guesses: ReadonlyMap<string, string> };

function problemsOf(
  { record }: OnceAnswer,
  matched: readonly MatchedItem[] | null,
  known: ReportHints,
): QuotekeeperError[] {
  if (matched === null) return [];
  if (matched.length > 0) return matched.flatMap((match) => problemOf(match, known));
  const call = describeCall(record.request as QuoteCall);
  return [new QuotekeeperError("NO_QUOTE", `the answer holds nothing for ${call}`)];
}

function problemOf(match: MatchedItem, { refused, guesses }: ReportHints): QuotekeeperError[] {
  const noQuote = (detail: string) => [new QuotekeeperError("NO_QUOTE", detail)];
  switch (match.fate) {
    case "stored":
      if (!refused.has(match.name)) return [];
      return noQuote(`the database refused the quote of ${match.name}: the table dead_letters says why`);
    case "unknown": {
      const guess = guesses.get(match.name) ?? "";
      return [new QuotekeeperError("UNKNOWN_SYMBOL", `the service does not know ${match.name}${guess}`)];
    }
    case "absent":
      return noQuote(`the answer holds nothing for ${match.name}${likelyPair(match.answered)}`);
    case "dead":
      return noQuote(`${match.name ?? "an instrument"} could not be stored: ${match.detail}`);
  }
}

/** @param answered what the answer holds under another name */
function likelyPair(answered: string | undefined): string {
  return answered === undefined ? "" : `, but ${answered}, which is likely the same: ask for that name`;
}

function quoteTable(lines: readonly QuoteLine[], { stdout, env }: Edges): string {
  const numbers = right("Last", "Change", "Bid", "Ask", "Volume");
  const columns = [{ heading: "Instrument", wrap: ":" }, ...numbers, "At (New York)"];
  const rows = lines.map((line) => [
    line.instrument,
    ...pricesOf(line),
    line.volume && thousands(line.volume),
    `${exchangeTime(new Date(line.observedAt)).slice(11)}${line.delayed ? " delayed" : ""}`,
  ]);
  return table(columns, rows, { stdout, env });
}

/** Last, change, bid and ask, with the decimals of their instrument; null where the service sent none. */
function pricesOf({ last, change, bid, ask }: QuoteLine): (string | null)[] {
  const places = pricePlaces([last, change, bid, ask]);
  const shown = (text: string | null): string | null => text && priceText(text, places);
  return [shown(last), change && signed(priceText(change, places)), shown(bid), shown(ask)];
}
