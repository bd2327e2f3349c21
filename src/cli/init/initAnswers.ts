/** The answers of `quotekeeper init`: from flags, the environment, the person at the terminal, or the defaults. */
import { QuotekeeperError } from "../../ground/errors.ts";
import type { Edges } from "../../ground/edges.ts";
import type { Asker } from "../terminal/asker.ts";
import { say } from "../terminal/harmless.ts";
import { currentVersion } from "../../archive/schema/migrations.ts";
import { loadConfig } from "../../config/loadEnvironment.ts";
import { serviceNamed } from "../../services/registry.ts";
import { lackOfChain } from "../../schedule/polledJob.ts";
import { withArchive } from "../../archive/openArchive.ts";
import {
  type AnswerCheck,
  type Answers,
  isSet,
  type Name,
  NAMES,
  questionsOf,
  readChains,
  complaintOf,
  missingCredentials,
  settingsProblem,
} from "./questions.ts";
import { type AccountAnswer, readAccount } from "./accountAnswer.ts";
import { tryHosts } from "./triedHosts.ts";
import { environmentLine } from "./writtenFiles.ts";

type Sources = Omit<Dialogue, "answers"> & {
  given: Answers;
  /** Whether questions without a flag have their defaults. */
  yes: boolean;
};

/** Variables that answer a question: they go before `.env`, so another answer would have no effect. */
const VARIABLES_OF: Partial<Record<Name, readonly string[]>> = {
  account: ["QUOTES_BASE_URL", "QUOTES_SERVICE"],
  database: ["DATABASE_URL"],
};

const TRY: Partial<Record<Name, (answer: string, asking: Dialogue) => Promise<AnswerCheck>>> = {
  account: tryAccount,
  database: tryDatabase,
};

export function isAnsweredByEnvironment(name: Name, env: Edges["env"]): boolean {
  return answeringVariable(name, env) !== undefined;
}

function answeringVariable(name: Name, env: Edges["env"]): string | undefined {
  return VARIABLES_OF[name]?.find(
    // A service without an address of its own is no account yet.
    (variable) => isSet(variable, env) && (variable !== "QUOTES_SERVICE" || hasAddress(env[variable])),
  );
}

function hasAddress(service: string | undefined): boolean {
  return (serviceNamed(service?.trim())?.addresses ?? []).length > 0;
}

/**
 * All five answers, checked, and the lines of `.env` that follow from them.
 *
 * @throws QuotekeeperError USAGE with everything that is wrong with the flags; Interrupted
 */
export async function answersTo(sources: Sources): Promise<{ answers: Answers; lines: string[] }> {
  const { edges, given, yes, asker } = sources;
  const open = NAMES.filter((name) => given[name] === null && !isAnsweredByEnvironment(name, edges.env));
  if (asker === null && !yes && open.length > 0)
    throw usage([
      `init has no terminal to ask: give ${open.map((name) => `--${name}`).join(", ")}, or --yes for the defaults`,
    ]);
  const wrong = wrongFlags(sources);
  if (wrong.length > 0) throw usage(wrong);
  const answers: Answers = { symbols: null, chains: null, hours: null, account: null, database: null };
  const lines: string[] = [];
  for (const name of NAMES) {
    if (open.includes(name) && !yes && asker !== null) {
      const asked = await untilRight(name, { edges, asker, answers });
      answers[name] = asked.answer;
      lines.push(...asked.lines);
    } else if (isAnsweredByEnvironment(name, edges.env)) {
      const variable = answeringVariable(name, edges.env) ?? "";
      const tried = name === "account" ? await tryHosts([], edges) : { lines: [] };
      if ("problem" in tried) throw usage([`${variable}: ${tried.problem}`]);
      lines.push(`# ${variable} comes from the environment.`, ...tried.lines);
    } else {
      const answer = (answers[name] = given[name] ?? questionsOf(edges)[name].otherwise);
      const tried = await tryAnswer(name, answer, { ...sources, answers });
      if ("problem" in tried) throw usage([`--${name}: ${tried.problem}`]);
      lines.push(...tried.lines);
    }
  }
  return { answers, lines };
}

function wrongFlags({ edges, given }: Sources): string[] {
  const questions = questionsOf(edges);
  return NAMES.flatMap((name) => {
    const answer = given[name];
    if (answer === null) return [];
    if (isAnsweredByEnvironment(name, edges.env))
      return [
        `--${name}: ${answeringVariable(name, edges.env)} is set in the environment, which goes before .env: unset it`,
      ];
    const problem = questions[name].problem(answer);
    return problem === null ? [] : [`--${name}: ${problem}`];
  });
}

async function tryAnswer(name: Name, answer: string, asking: Dialogue): Promise<AnswerCheck> {
  const problem = questionsOf(asking.edges)[name].problem(answer);
  if (problem !== null) return { problem };
  return (await TRY[name]?.(answer, asking)) ?? { lines: [] };
}

/** Asks one question until the answer is right, and says at once what is wrong with an answer. */
async function untilRight(
  name: Name,
  { edges, asker, answers }: { edges: Edges; asker: Asker; answers: Answers },
): Promise<{ answer: string; lines: string[] }> {
  const { words, otherwise } = questionsOf(edges)[name];
  say(edges.stdout, "", `${NAMES.indexOf(name) + 1} of ${NAMES.length}  ${words}`);
  for (;;) {
    const answer = (await asker.ask(`${name} [${otherwise}]: `)) || otherwise;
    const tried = await tryAnswer(name, answer, { edges, asker, answers });
    if ("lines" in tried) return { answer, lines: tried.lines };
    say(edges.stdout, tried.problem);
  }
}

function usage(problems: readonly string[]): QuotekeeperError {
  const [only = ""] = problems;
  return problems.length === 1
    ? new QuotekeeperError("USAGE", only)
    : new QuotekeeperError("USAGE", "several answers are wrong:", { problems });
}

type Dialogue = { edges: Edges; asker: Asker | null; /** To the questions before. */ answers: Answers };

const BOTH_MARKS = "It holds quotation marks of every kind: put it into a file.";

async function tryAccount(answer: string, { edges, asker, answers }: Dialogue): Promise<AnswerCheck> {
  const account = readAccount(answer);
  if (!account) throw new QuotekeeperError("UNEXPECTED", `${answer} was taken for an account`);
  const { service, settings } = account;
  const lack = readChains(answers.chains ?? "none").flatMap((chain) => lackOfChain(chain, service) ?? []);
  if (lack[0] !== undefined) return { problem: `the chains do not go with it: ${lack[0]}` };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  if (lines.length === 0) return { lines };
  const missing = missingCredentials(service, edges);
  const { all, steps = [], end } = service.credentials;
  const ways = [...steps.map((step, place) => `${place + 1}. ${step}`), ...(end ? [end] : [])];
  const lackOfTerminal = `there is no terminal to ask for secrets: set ${missing.join(", ")} in the environment, or for each NAME a NAME_FILE with the path of a file.`;
  if (missing.length > 0 && asker === null) return { problem: [lackOfTerminal, ...ways].join(" ") };
  if (missing.length > 0)
    say(
      edges.stdout,
      ...ways,
      "Its credentials are not shown. @ and a path name a file that holds one: @/run/secrets/key",
    );
  for (const { variable: name } of all) {
    const file = edges.env[`${name}_FILE`]?.trim();
    if (file) lines.push(`${name}_FILE=${file}`);
    else if (!missing.includes(name) || asker === null) lines.push(`# ${name} comes from the environment.`);
    else lines.push(await askSecret(name, account, { edges, asker }));
  }
  const tried = await tryHosts(lines, edges);
  return "problem" in tried ? tried : { lines: [...lines, ...tried.lines] };
}

/** Asks until the answer is right. @returns the line of `.env` */
async function askSecret(
  name: string,
  { service, settings: chosen }: AccountAnswer,
  { edges, asker }: { edges: Edges; asker: Asker },
): Promise<string> {
  const others = missingCredentials(service, edges)
    .filter((other) => other !== name)
    .map((other) => [other, "given"]);
  for (;;) {
    const typed = await asker.askHidden(`${name}: `);
    const [variable, value] = typed.startsWith("@") ? [`${name}_FILE`, typed.slice(1)] : [name, typed];
    const line = environmentLine(variable, value);
    const settings = Object.fromEntries([...Object.entries(chosen), ...others, [variable, value]]);
    const problem = line === null ? BOTH_MARKS : settingsProblem(settings, edges);
    if (line !== null && problem === null) return line;
    say(edges.stdout, problem ?? BOTH_MARKS);
  }
}

/** Connects to the server, and asks for a password if the server wants one. @throws Interrupted */
async function tryDatabase(url: string, { edges, asker }: Dialogue): Promise<AnswerCheck> {
  if (url === "embedded") return { lines: [] };
  let opened = url;
  let trial = await connect(opened, edges);
  if (trial?.wantsLogin && asker !== null && HAS_USER.test(url)) {
    say(edges.stdout, trial.problem);
    const password = await asker.askHidden("password, not shown (Enter: another address): ");
    if (password !== "") {
      opened = url.replace(HAS_USER, (start) => `${start}:${encodeURIComponent(password)}`);
      trial = await connect(opened, edges);
    }
  }
  if (trial !== null) return { problem: trial.problem };
  const line = environmentLine("DATABASE_URL", opened);
  return line === null ? { problem: BOTH_MARKS } : { lines: [line] };
}

/** An address up to the user's name. */
const HAS_USER = /^\w+:\/\/[^/?#@:]+(?=@)/;

/** @returns null when the server accepts the connection; `wantsLogin`: a password may help. @throws Interrupted */
async function connect(url: string, edges: Edges): Promise<{ problem: string; wantsLogin: boolean } | null> {
  try {
    const config = loadConfig({ ...edges.env, DATABASE_URL: url }, edges.directory);
    await withArchive(config, edges, ({ pool }) => currentVersion(pool));
    return null;
  } catch (error) {
    const problem = complaintOf(() => {
      throw error;
    });
    if (problem === null) return null;
    return { problem, wantsLogin: error instanceof QuotekeeperError && error.code === "DATABASE_REFUSED" };
  }
}
