/** The five questions of `quotekeeper init`, their defaults, and the checks of an answer. */
import { InvalidArgumentError } from "commander";
import { distance } from "fastest-levenshtein";
import { parameter } from "../../config/databaseUrl.ts";
import { loadConfig } from "../../config/loadEnvironment.ts";
import { alternatives, optionName, plainError, problemsOf } from "../../config/wording.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Chain, chainSchema, expandChain } from "../../market/optionChain.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import type { Edges } from "../../ground/edges.ts";
import { CONTRACT_COSTS, titlesWith } from "../../services/registry.ts";
import type { Service } from "../../services/service.ts";
import { parseNames, parseSymbols } from "../arguments.ts";
import { ACCOUNT_FORMS, ACCOUNT_WORDS, NAMED_SERVICES, readAccount, SIMULATED } from "./accountAnswer.ts";

/** The questions in their order; each name is also a flag. */
export const NAMES = ["symbols", "chains", "hours", "account", "database"] as const;

export type Name = (typeof NAMES)[number];

/** The answers as given; null: of a flag, that it is not given; else that the environment answers the question. */
export type Answers = Record<Name, string | null>;

/** The answers to `hours`, and the session of a job that each stands for. */
export const SESSIONS = { regular: "regular", extended: "any", always: "always" } as const;

/** In place of expirations, percent and step: all that the service lists. */
const LISTED = "listed";

export const CHAIN = "UNDERLYING:EXPIRATIONS:PERCENT:STEP";

/** The parts of a chain, by the options of a job file. */
const PARTS: Readonly<Record<string, string>> = {
  underlying: "UNDERLYING",
  "expirations.next": "EXPIRATIONS",
  "strikes.percent": "PERCENT",
  "strikes.step": "STEP",
};

/** The lines of `.env` of an answer, or what is wrong with the answer. */
export type AnswerCheck = { lines: string[] } | { problem: string };

type Question = {
  words: string;
  otherwise: string;
  /** What is wrong with an answer, without trying a server; null: nothing. */
  problem: (answer: string) => string | null;
};

export function questionsOf(edges: Edges): Record<Name, Question> {
  return {
    symbols: {
      words: "Which symbols? Put commas between them; up to 100 are one call.",
      otherwise: "AAPL,MSFT,SPY",
      problem: (answer) => complaintOf(() => parseSymbols(answer)),
    },
    chains: {
      words: `Which option chains? Each as ${CHAIN}: AAPL:2:4:5 is the next 2 monthly expirations of AAPL, strikes up to 4 % from its price, at multiples of 5, calls and puts. AAPL:listed is all that the service lists of AAPL, an expiration a call: ${titlesWith("expirations")}. ${CONTRACT_COSTS}`,
      otherwise: "none",
      problem: (answer) =>
        complaintOf(() => readChains(answer).forEach((chain) => contractsOf(chain, LOW_PRICE, edges))),
    },
    hours: {
      words:
        "When? regular: 09:30 to 16:00 in New York. extended: before and after it too. always: around the clock, as on the simulated market.",
      otherwise: "regular",
      problem: (answer) =>
        Object.hasOwn(SESSIONS, answer)
          ? null
          : `${JSON.stringify(answer)} is none of these: expected ${alternatives(Object.keys(SESSIONS))}.`,
    },
    account: {
      words: `Which account? ${SIMULATED}: quotes that are made up. ${NAMED_SERVICES} Or the address of another Market Quotes Service, such as https://api.broker.example. The credentials are asked for next.`,
      otherwise: SIMULATED,
      problem: (answer) => accountProblem(answer, edges),
    },
    database: {
      words:
        "Which database? embedded: a PostgreSQL of its own, in the data directory. Or the address of a server, without password, such as postgresql://quotekeeper@127.0.0.1:5432/quotekeeper.",
      otherwise: "embedded",
      problem: (answer) =>
        answer === "embedded"
          ? null
          : (wordProblem(answer, ["embedded"]) ??
            passwordProblem(answer) ??
            settingsProblem({ DATABASE_URL: answer }, edges)),
    },
  };
}

/** A price at which a chain is counted while the underlying's price is unknown. */
export const LOW_PRICE = "100";

/** Calls of a chain at each slot. @param last the underlying's price. @throws QuotekeeperError CHAIN_INVALID */
export function callsOf(
  chain: Chain,
  last: string,
  { edges, service }: { edges: Pick<Edges, "clock">; service: Pick<Service, "batch" | "optionsInList"> },
): number {
  const contracts = contractsOf(chain, last, edges);
  const { optionsInList, batch } = service;
  return optionsInList ? Math.ceil(contracts / (batch.contracts ?? batch.first)) : contracts;
}

function contractsOf(chain: Chain, last: string, { clock }: Pick<Edges, "clock">): number {
  const today = exchangeDate(clock.now());
  return expandChain(chain, { last, listed: [], today, calendar: createCalendar([]) }).length;
}

/** `AAPL:2:4:5,MSFT:1:5:10`, `AAPL:listed`, or `none`. @throws InvalidArgumentError */
export function readChains(answer: string): Chain[] {
  if (answer === "none") return [];
  return parseNames(answer, "chain", "AAPL:2:4:5, or none").map((text) => {
    const [underlying = "", next = "", percent = "", step = "", ...more] = text.split(":");
    const wrong = (what: string): InvalidArgumentError =>
      new InvalidArgumentError(`${JSON.stringify(text)} is not a chain: ${what}.`);
    const isListed = next === LISTED && percent === "";
    if ((step === "" && !isListed) || more.length > 0)
      throw wrong(`expected ${CHAIN}, such as AAPL:2:4:5, or AAPL:${LISTED}, or none`);
    const options = isListed
      ? { expirations: LISTED, strikes: "all" }
      : {
          expirations: { next: /^\d+$/.test(next) ? Number(next) : next },
          strikes: { around: "last", percent, step },
        };
    const read = chainSchema.safeParse({ underlying, ...options }, { error: plainError });
    if (read.success) return read.data;
    const problems = read.error.issues.flatMap(problemsOf);
    const part = (path: string): string => PARTS[path] ?? path;
    throw wrong(problems.map(({ path, message }) => `${part(optionName(path))}: ${message}`).join("; "));
  });
}

function accountProblem(answer: string, edges: Edges): string | null {
  const read = readAccount(answer);
  if (read === null)
    return wordProblem(answer, ACCOUNT_WORDS) ?? `expected ${alternatives([...ACCOUNT_FORMS, "an address"])}`;
  const { service, settings } = read;
  const inForce = edges.env["QUOTES_SERVICE"]?.trim();
  if (inForce && inForce !== service.name && answer !== SIMULATED)
    return `QUOTES_SERVICE=${inForce} is set in the environment, which goes before .env: unset it`;
  if (answer === SIMULATED) return settingsProblem({}, edges);
  const credentials = missingCredentials(service, edges).map((name) => [name, "given"]);
  return settingsProblem({ ...settings, ...Object.fromEntries(credentials) }, edges);
}

/** Most letters in which a misspelt word differs. */
const NEAR = 3;

/** What is wrong with an answer that is neither one of `words` nor an address; null: it holds an address. */
function wordProblem(answer: string, words: readonly string[]): string | null {
  if (answer.includes("://")) return null;
  const near = words.find((word) => distance(answer.toLowerCase(), word) <= NEAR);
  const remedy =
    near === undefined ? `expected ${words.join(", ")}, or an address with ://` : `did you mean ${near}?`;
  return `${JSON.stringify(answer)} is no address: ${remedy}`;
}

/** Variables of the service's credentials that the environment does not set. */
export function missingCredentials({ credentials }: Service, { env }: Pick<Edges, "env">): string[] {
  return credentials.all.map(({ variable }) => variable).filter((name) => !isSet(name, env));
}

export function isSet(name: string, env: Edges["env"]): boolean {
  return Boolean(env[name]?.trim() || env[`${name}_FILE`]?.trim());
}

/** What is wrong with these settings together with the environment; null: nothing. */
export function settingsProblem(
  settings: Readonly<Record<string, string>>,
  { env, directory }: Edges,
): string | null {
  return complaintOf(() => loadConfig({ ...env, ...settings }, directory));
}

function passwordProblem(url: string): string | null {
  const hasPassword = /^\w+:\/\/[^/?#@]*:[^@]*@/.test(url);
  return hasPassword || ["password", "sslpassword"].some((name) => parameter(url, name) !== null)
    ? "It holds a password: leave that out. It is asked for if the server wants one, or comes from ~/.pgpass."
    : null;
}

/** What is wrong, without code and remedy. @throws errors that are not ours */
export function complaintOf(read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof InvalidArgumentError) return error.message;
    if (!(error instanceof QuotekeeperError)) throw error;
    const [, ...problems] = error.lines.slice(0, -1);
    return `${problems.map((line) => line.trim()).join(". ") || error.detail}.`;
  }
}
