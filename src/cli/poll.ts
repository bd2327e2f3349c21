/** `quotekeeper poll`: one poll now, through journal and archive, printed as a table. */
import { Option } from "commander";
import { z } from "zod";
import { FIRST_BATCH_SIZE } from "../collect/batchSize.ts";
import type { OptionContract } from "../market/instrument.ts";
import { decimalText, instant } from "../run/jsonWords.ts";
import { parseContract, parseSymbols, parseWatchlist } from "./arguments.ts";
import type { AddCommand } from "./command.ts";
import { printJson } from "./terminal/printJson.ts";
import { resolve } from "node:path";
import { loadAll } from "../archive/load/loader.ts";
import { migrate } from "../archive/schema/migrations.ts";
import type { QuoteLine } from "../archive/ask/dashboardTypes.ts";
import { readQuotesOf } from "../archive/ask/queries.ts";
import { answerError } from "../quotes-api/answer.ts";
import { type Arrived, answeredEnd } from "../collect/callEnds.ts";
import { budgetState } from "../collect/governor/budgetState.ts";
import { admission, createGovernor, type GovernorState, step } from "../collect/governor/governor.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { ERRORS, QuotekeeperError } from "../errors.ts";
import { instantFromDate } from "../clock.ts";
import { exchangeTime } from "../market/calendar/dates.ts";
import { type Collected, collectCall } from "../run/pipeline.ts";
import { mayBeRefusedForTheClock } from "../quotes-api/clockSkew.ts";
import { matchAnswer, type Matched } from "../quotes-api/match.ts";
import { askedInstruments, describeCall, type QuoteCall } from "../quotes-api/request.ts";
import { readGuesses } from "../run/didYouMean.ts";
import { thisProcess } from "../run/beside/lock.ts";
import { askForCall, type Permit, withPermit } from "../run/beside/permits.ts";
import type { Edges } from "../run/edges.ts";
import { type Archive, withArchive } from "../run/archive.ts";
import { type Account, accountKey } from "../accounts/account.ts";
import { accountsToCall } from "../run/operatorsWord.ts";
import type { OpenFeed } from "../run/feed.ts";
import { type AccountStations, openStations } from "../run/stations.ts";
import { readCalendarDays } from "../schedule/readJobs.ts";
import { table } from "./terminal/table.ts";
import { say } from "./terminal/harmless.ts";
import { price as priceText, pricePlaces, signed, thousands } from "../figures.ts";

const price = decimalText.nullable();

const quoteLine = z.strictObject({
  instrument: z.string().describe("`AAPL`, or a contract such as `AAPL:2026-12-18:CALL:150`."),
  description: z.string().nullable().describe("The service's words for it."),
  source: z.enum(["account", "simulated", "import"]).describe("Where the quote comes from."),
  delayed: z.boolean().describe("Whether a delayed quote was asked for."),
  observedAt: instant.describe("When its answer arrived."),
  bid: price.describe("Bid; null when the service sent none, as everywhere."),
  ask: price.describe("Ask."),
  last: price.describe("Last trade."),
  change: price.describe("Change since the previous close."),
  pctChange: price.describe("The same in percent."),
  bidSize: price.describe("Size at the bid."),
  askSize: price.describe("Size at the ask."),
  volume: price.describe("Volume of the day."),
  delta: price.describe("Delta of a contract."),
});

/** `poll --json`. */
export const pollJson = z.strictObject({
  quotes: z.array(quoteLine).describe("The quotes that were stored; prices are decimal text."),
  errors: z
    .array(
      z.strictObject({
        code: z.string().describe("Code of the error, see docs/errors.md."),
        message: z.string().describe("What is wrong and what to do."),
        detail: z.string().describe("What is wrong, naming the thing and the value."),
        hint: z.string().describe("What to do."),
      }),
    )
    .describe("What was asked for and is not there; the exit code is 1 then."),
});

type PollOptions = {
  symbols?: string[];
  watchlist?: string;
  option?: OptionContract[];
  delayed: boolean;
  account?: string;
  json: boolean;
};

/** One of three forms, and what goes with each. */
export const addPoll: AddCommand = (command, { run, edges }) => {
  const forms = ["symbols", "watchlist", "option"];
  const conflicting = (option: Option): Option =>
    option.conflicts(forms.filter((name) => name !== option.attributeName()));
  command
    .addOption(
      conflicting(
        new Option("--symbols <list>", "symbols, separated by commas; repeatable").argParser(
          (text, before: string[] = []) => [...new Set([...before, ...parseSymbols(text)])],
        ),
      ),
    )
    .addOption(
      conflicting(new Option("--watchlist <id>", "a watchlist of the account").argParser(parseWatchlist)),
    )
    .addOption(
      conflicting(
        new Option(
          "--option <contract>",
          "an option contract, as UNDERLYING:YYYY-MM-DD:CALL|PUT:STRIKE; repeatable, a call each",
        ).argParser((text, before: OptionContract[] = []) => [...before, parseContract(text)]),
      ),
    )
    .option("--delayed", "ask for delayed quotes", false)
    .option("--account <name>", "the account that asks; default: the first that is not drained")
    .option("--json", "print JSON", false)
    .action((options: PollOptions) => {
      const calls = callsOf(options);
      if (calls.length === 0)
        command.error("error: give one of --symbols, --watchlist or --option", { exitCode: 2 });
      const { account = null, json } = options;
      return run((config) => poll(config, edges, { calls, account, json }));
    });
};

function callsOf({ symbols, watchlist, option, delayed }: PollOptions): QuoteCall[] {
  if (symbols) return symbolCalls(symbols, delayed);
  if (watchlist !== undefined) return [{ form: "watchlist", watchlist, delayed }];
  return (option ?? []).map((contract) => ({ form: "option", contract, delayed }));
}

function symbolCalls(symbols: readonly string[], delayed: boolean): QuoteCall[] {
  const calls: QuoteCall[] = [];
  for (let start = 0; start < symbols.length; start += FIRST_BATCH_SIZE) {
    calls.push({ form: "symbols", symbols: symbols.slice(start, start + FIRST_BATCH_SIZE), delayed });
  }
  return calls;
}

/** All is loaded at the end, in one go. */
const LATER = { notify: () => undefined };

/** What to poll; exactly one of the three forms, checked when it was parsed. `account` null: whichever. */
type PollRequest = { calls: QuoteCall[]; account: string | null; json: boolean };

/** @returns 0 when every instrument asked for was stored, 1 otherwise */
async function poll(
  config: Config,
  edges: Edges,
  { calls: wanted, ...request }: PollRequest,
): Promise<number> {
  const { clock, bootId, stderr } = edges;
  const [account] = await accountsToCall(config, request.account);
  if (!account) throw new RangeError("there is an account to call");
  const stations = await openStations(config, {
    ...{ clock, bootId, upkeep: false },
    tell: (_level, message) => say(stderr, message),
  });
  const collected: Collected[] = [];
  let feed: OpenFeed | null = null;
  try {
    const open = await stations.open(account);
    ({ feed } = open);
    const { simulated } = feed;
    if (simulated)
      say(stderr, "SIMULATED market: these quotes are made up. Set QUOTES_BASE_URL to poll a real account.");
    const budget = new Budget(edges, open.budget);
    const ask = async (call: QuoteCall): Promise<Collected> => {
      // Each process has a simulated service of its own.
      const permit = simulated ? null : await permitOf(config, account, edges);
      const learn = permit === null ? await budget.admitted() : budget.sent();
      return withPermit(permit, learn, (onArrived) =>
        collectCall({ call, jobs: [], slotAt: null }, { ...stations, ...open, loader: LATER }, { onArrived }),
      );
    };
    for (const call of wanted) {
      let answered = await ask(call);
      // The refusal has shown how far the machine's clock is off: the second attempt signs by the service's.
      if (answered.answer.outcome === "unauthorized" && mayBeRefusedForTheClock(answered.record))
        answered = await ask(call);
      collected.push(answered);
    }
  } finally {
    await feed?.close();
    await stations.close();
  }
  // The answers are on disk: from here on nothing can be lost, whatever the database says.
  const calendar = await readCalendarDays(resolve(config.jobsDir));
  const { lines, guesses } = await withArchive(config, edges, async (archive) => ({
    lines: await store(archive, { dir: stations.dir, edges, collected, calendar }),
    guesses: await readGuesses(archive.pool, collected.flatMap(unknownIn)),
  }));
  return report(lines, { collected, guesses, edges, json: request.json });
}

/** The leave of a collector that runs beside; null: none does. */
async function permitOf(config: Config, account: Account, { clock, stderr }: Edges): Promise<Permit | null> {
  return askForCall(resolve(config.dataDir), {
    ...{ by: "poll", account: accountKey(account), clock, self: await thisProcess() },
    onWait: () =>
      say(
        stderr,
        "A collector runs here, and its budget is used up at the moment: waiting for a call of it.",
      ),
  });
}

/** The account's budget where no collector runs: what was noted of the calls before counts. */
class Budget {
  readonly #edges: Edges;
  readonly #onClosed: AccountStations["budget"]["onClosed"];
  #governor: GovernorState;

  constructor(edges: Edges, { governor, history, onClosed }: AccountStations["budget"]) {
    this.#edges = edges;
    this.#onClosed = onClosed;
    this.#governor = createGovernor(governor, edges.clock.monotonicMs(), history ?? undefined);
  }

  /** Waits until a call may leave, which then counts. @returns to be told of its answer */
  async admitted(): Promise<(arrived: Arrived) => void> {
    const { clock, stderr } = this.#edges;
    for (let told = false; ; told = true) {
      const nowMs = clock.monotonicMs();
      const answer = admission(this.#governor, nowMs);
      if (answer.maySend) break;
      const waitMs = answer.notBeforeMs - nowMs;
      if (!told && waitMs > 2_000)
        say(stderr, `The calls of this minute are used up; waiting ${Math.ceil(waitMs / 1000)} s.`);
      await clock.sleep(waitMs);
    }
    return this.sent();
  }

  /** Counts a call that leaves now. @returns to be told of its answer */
  sent(): (arrived: Arrived) => void {
    const sentAtMs = this.#edges.clock.monotonicMs();
    this.#governor = step(this.#governor, { type: "sent" }, sentAtMs);
    return (arrived) => this.#learn(arrived, sentAtMs);
  }

  #learn(arrived: Arrived, sentAtMs: number): void {
    const { clock } = this.#edges;
    const nowMs = clock.monotonicMs();
    this.#governor = step(this.#governor, answeredEnd(arrived, sentAtMs, clock.now().getTime()), nowMs);
    const { closedForMs } = budgetState(this.#governor, nowMs);
    if (closedForMs > 0) this.#onClosed?.(closedForMs);
  }
}

/** Where the journal is, what it was given, and what the operator says of single days, as far as he does. */
type Stored = {
  dir: string;
  edges: Edges;
  collected: readonly Collected[];
  calendar: Awaited<ReturnType<typeof readCalendarDays>>;
};

async function store(archive: Archive, { dir, edges, collected, calendar }: Stored): Promise<QuoteLine[]> {
  const { clock, stderr } = edges;
  await migrate(archive.pool, instantFromDate(clock.now()), { calendar });
  // All of the journal: an earlier poll may have met a database that was down.
  await loadAll({
    pool: archive.pool,
    journalDir: dir,
    clock,
    onDamage: ({ segment, offset, unreadable }) =>
      say(stderr, unreadable ?? `damaged bytes in the journal were passed over: ${segment} at ${offset}`),
  });
  return readQuotesOf(
    archive.pool,
    collected.map(({ record }) => record.observedAt),
  );
}

/** What was collected, and what stands behind names that the service does not know. */
type Reported = {
  collected: readonly Collected[];
  guesses: ReadonlyMap<string, string>;
  edges: Edges;
  json: boolean;
};

function report(lines: readonly QuoteLine[], { collected, guesses, edges, json }: Reported): number {
  const stored = new Set(lines.map(({ instrument }) => instrument));
  const matched = collected.map(matchedOf);
  const problems = [
    ...collected.flatMap(({ answer }) => (answer.outcome === "quotes" ? [] : [answerError(answer)])),
    ...collected.flatMap((one, place) => problemsOf(one, matched[place] ?? null, { stored, guesses })),
  ];
  if (json) {
    const errors = problems.map(({ code, message, detail }) => ({
      ...{ code, message, detail },
      hint: ERRORS[code].hint,
    }));
    printJson(edges.stdout, pollJson, { quotes: [...lines], errors });
  } else if (lines.length > 0) edges.stdout.write(quoteTable(lines, edges));
  if (!json) for (const { message } of problems) say(edges.stderr, message);
  for (const line of matched.flatMap((one) => one?.flatMap(oddFieldsOf) ?? [])) say(edges.stderr, line);
  return problems.length > 0 ? 1 : 0;
}

/** An answer's items by what was asked; null: it is none with quotes. */
function matchedOf({ record, answer }: Collected): Matched[] | null {
  if (answer.outcome !== "quotes") return null;
  return matchAnswer(askedInstruments(record.request as QuoteCall), answer.document.items);
}

/** Names that the service does not know. */
function unknownIn(collected: Collected): string[] {
  return matchedOf(collected)?.flatMap((match) => (match.fate === "unknown" ? [match.name] : [])) ?? [];
}

/** What of a stored quote could not be read: a line each. */
function oddFieldsOf(match: Matched): string[] {
  if (match.fate !== "stored") return [];
  return match.oddFields.map(
    ({ problem }) => `${match.name} is stored without one field: ${problem} (table dead_letters)`,
  );
}

/** `stored`: names of what the database has taken. */
type Known = { stored: ReadonlySet<string>; guesses: ReadonlyMap<string, string> };

function problemsOf(
  { record }: Collected,
  matched: readonly Matched[] | null,
  known: Known,
): QuotekeeperError[] {
  if (matched === null) return [];
  if (matched.length > 0) return matched.flatMap((match) => problemOf(match, known));
  const call = describeCall(record.request as QuoteCall);
  return [new QuotekeeperError("NO_QUOTE", `the answer holds nothing for ${call}`)];
}

function problemOf(match: Matched, { stored, guesses }: Known): QuotekeeperError[] {
  switch (match.fate) {
    case "stored":
      if (stored.has(match.name)) return [];
      return [
        new QuotekeeperError(
          "NO_QUOTE",
          `the database refused the quote of ${match.name}: the table dead_letters says why`,
        ),
      ];
    case "unknown":
      return [
        new QuotekeeperError(
          "UNKNOWN_SYMBOL",
          `the service does not know ${match.name}${guesses.get(match.name) ?? ""}`,
        ),
      ];
    case "absent":
      return [
        new QuotekeeperError(
          "NO_QUOTE",
          `the answer holds nothing for ${match.name}${likelyPair(match.answered)}`,
        ),
      ];
    case "dead":
      return [
        new QuotekeeperError(
          "NO_QUOTE",
          `${match.name ?? "an instrument"} could not be stored: ${match.detail}`,
        ),
      ];
  }
}

/** @param answered what the answer holds under another name */
function likelyPair(answered: string | undefined): string {
  return answered === undefined ? "" : `, but ${answered}, which is likely the same: ask for that name`;
}

function quoteTable(lines: readonly QuoteLine[], { stdout, env }: Edges): string {
  const columns = [
    { heading: "Instrument", wrap: ":" },
    { heading: "Last", right: true },
    { heading: "Change", right: true },
    { heading: "Bid", right: true },
    { heading: "Ask", right: true },
    { heading: "Volume", right: true },
    { heading: "At (New York)" },
  ];
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
