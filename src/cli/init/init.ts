/** `quotekeeper init`: asks five questions, and writes job files and `.env` from the answers. */
import { programName } from "../../ground/packageRoot.ts";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Config, loadConfig } from "../../config/loadEnvironment.ts";
import { CREDENTIAL_NAMES } from "../../config/environment.ts";
import { describeProblem } from "../../config/yamlFile.ts";
import { inCapitals } from "../../market/instrument.ts";
import { type Edges, Interrupted, READER_GONE } from "../../ground/edges.ts";
import { experimentalNote } from "../../services/registry.ts";
import { optionValue, type Service } from "../../services/service.ts";
import { isJobFile, readJobs } from "../../schedule/readJobs.ts";
import { needsList } from "../../market/optionChain.ts";
import { parseSymbols } from "../arguments.ts";
import { choice, command, flag, option } from "../command.ts";
import { mostCalls, planJobs } from "../planJobs.ts";
import { openAsker } from "../terminal/asker.ts";
import { say } from "../terminal/harmless.ts";
import { ACCOUNT_FORMS, readAccount } from "./accountAnswer.ts";
import { answersTo, isAnsweredByEnvironment } from "./initAnswers.ts";
import { type Answers, CHAIN, callsOf, LOW_PRICE, readChains, SESSIONS } from "./questions.ts";
import {
  chainsFile,
  environmentFile,
  filesExist,
  placeFiles,
  symbolsFile,
  thereAlready,
} from "./writtenFiles.ts";
import { inSeconds } from "../../market/durations.ts";
import { counted, thousands } from "../../ground/figures.ts";

/**
 * Exit code 0; 1 when the jobs are over budget; 2 when all job files together do not pass `jobs check`. It may end before anything is
 * written: with CONFIG_INVALID, INIT_EXISTS, INIT_WRITE_FAILED, USAGE, or at Ctrl-C.
 */
export const init = command({
  options: {
    symbols: option("<list>", "symbols, separated by commas"),
    chains: option("<list>", `option chains, separated by commas, each ${CHAIN}; or none`),
    hours: choice("<when>", "when to poll", Object.keys(SESSIONS)),
    account: option("<service>", `${ACCOUNT_FORMS.join(", ")}, or the address of another service`),
    database: option("<address>", "embedded, or the address of a PostgreSQL server, without password"),
    yes: flag("take what Enter would answer for every question that no flag answers"),
  },
  more: "Secrets are asked for and not shown; without a terminal they come from the environment, best as NAME_FILE.",
  runWithoutSettings: async (edges, { yes, ...given }) => {
    const config = loadConfig(environmentBefore(edges), edges.directory);
    const dir = resolve(config.jobsDir);
    const paths = {
      symbols: join(dir, "symbols.yaml"),
      chains: join(dir, "chains.yaml"),
      dotenv: join(edges.directory, ".env"),
    };
    const there = await thereAlready(Object.values(paths));
    if (there.length > 0) throw filesExist(there);
    const { answers, lines } = await askInTime(edges, { given, yes });
    const beside = (await readdir(dir).catch((): string[] => [])).filter(isJobFile);
    // The environment answers where the question was not asked.
    const service = readAccount(answers.account ?? "")?.service ?? config.service;
    const files = filesOf(answers, { lines, service }, paths);
    // From here on signals are ignored: the files are written in a moment.
    const stopListening = edges.onInterrupt(() => undefined);
    await placeFiles(files).finally(stopListening);
    say(edges.stdout, "", ...[...files.keys()].map((path) => `Wrote      ${path}`));
    const small = inSmallLetters(answers);
    if (small.length > 0)
      say(
        edges.stdout,
        `Capitals   ${small.join(", ")}: symbols are written in capitals, ${inCapitals(small.join(", "))}`,
      );
    if (beside.length > 0)
      say(edges.stdout, `Beside     ${beside.sort().join(", ")} in ${dir}, which count too.`);
    return sayCost(edges);
  },
});

function inSmallLetters({ symbols, chains }: Answers): string[] {
  const underlyings = (chains ?? "none") === "none" ? [] : (chains?.split(",") ?? []);
  const typed = [...(symbols?.split(",") ?? []), ...underlyings].map(
    (one) => one.split(":")[0]?.trim() ?? "",
  );
  return [...new Set(typed)].filter((symbol) => symbol !== inCapitals(symbol));
}

/** @throws as `answersTo`; Interrupted after Ctrl-C */
async function askInTime(
  edges: Edges,
  { given, yes }: { given: Answers; yes: boolean },
): ReturnType<typeof answersTo> {
  const ended = new AbortController();
  // Said at once: the trial of a server may take some time.
  ended.signal.addEventListener("abort", () => say(edges.stderr, "", "Ended. Nothing was written."));
  const stopListening = edges.onInterrupt((signal) => {
    if (signal !== READER_GONE) ended.abort(new Interrupted(signal));
  });
  const stdin = edges.stdin?.();
  const asker = stdin?.isTTY && edges.stdout.isTTY ? openAsker(stdin, edges, ended) : null;
  try {
    const answers = await answersTo({ edges: endingWith(ended, edges), given, yes, asker });
    ended.signal.throwIfAborted();
    return answers;
  } finally {
    asker?.close();
    stopListening();
  }
}

/** The environment before the account is known: credentials without an address are no mistake yet. */
function environmentBefore({ env }: Edges): Edges["env"] {
  if (isAnsweredByEnvironment("account", env)) return env;
  const early = CREDENTIAL_NAMES.flatMap((name) => [name, `${name}_FILE`]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !early.includes(name)));
}

/** The edges for work that ends with the questions: in a terminal that readline reads, Ctrl-C is a key. */
function endingWith({ signal }: AbortController, edges: Edges): Edges {
  return {
    ...edges,
    onInterrupt: (callback) => {
      const notify = (): void => callback("SIGINT");
      if (signal.aborted) notify();
      signal.addEventListener("abort", notify);
      return () => signal.removeEventListener("abort", notify);
    },
  };
}

function filesOf(
  { symbols, chains, hours }: Answers,
  { lines, service }: { lines: readonly string[]; service: Service },
  paths: Record<"symbols" | "chains" | "dotenv", string>,
): Map<string, string> {
  const session = SESSIONS[hours as keyof typeof SESSIONS];
  const read = readChains(chains ?? "none");
  // `.env` first: after a kill in between, jobs without `.env` would poll the simulated market.
  const files = new Map([[paths.dotenv, environmentFile(lines)]]);
  files.set(paths.symbols, symbolsFile(parseSymbols(symbols ?? ""), session, service));
  return read.length > 0 ? files.set(paths.chains, chainsFile(read, session, service)) : files;
}

/** A price far from LOW_PRICE: both show how a chain's calls grow with the price. */
const HIGH_PRICE = "500";

/** Says what the jobs cost and what to do next. @returns the exit code */
async function sayCost(edges: Edges): Promise<number> {
  const config = loadConfig(edges.env, edges.directory);
  const { problems, jobs } = await readJobs(resolve(config.jobsDir), config);
  for (const problem of problems) say(edges.stderr, describeProblem(problem));
  if (problems.length > 0) return 2;
  const { budget, priceless, unlisted } = await planJobs(config, edges, null);
  const calls = mostCalls(budget);
  const over = budget.fits ? "" : ": OVER BUDGET";
  say(
    edges.stdout,
    `Plan       at most ${counted(calls, "call")} a minute; the limit is ${thousands(budget.limit)} in ${inSeconds(budget.windowMs)}${over}`,
  );
  for (const chain of jobs
    .flatMap(({ chains }) => chains)
    .filter((one) => priceless.includes(one.underlying) && !needsList(one))) {
    const at = (price: string): number => callsOf(chain, price, { edges, service: config.service });
    say(
      edges.stdout,
      `           and the chain of ${chain.underlying}, as soon as its price is stored: ${counted(at(LOW_PRICE), "call")} at a price of ${LOW_PRICE}, ${at(HIGH_PRICE)} at ${HIGH_PRICE}`,
    );
  }
  if (unlisted.length > 0)
    say(
      edges.stdout,
      `           and a call for each expiration that ${config.service.title} lists of ${unlisted.join(", ")}`,
    );
  say(edges.stdout, ...chosenOptions(config), ...nextSteps(config));
  return budget.fits ? 0 : 1;
}

/** The service's choices, which no question asks for, with what each decides. */
function chosenOptions({ feed, service: { options = [] } }: Config): string[] {
  const chosen = feed.kind === "account" ? feed.options : undefined;
  return options
    .filter((option) => "values" in option)
    .map((one) => `Setting    ${one.variable}=${optionValue(one, chosen)}. ${one.does}`);
}

function nextSteps({ feed, service }: Config): string[] {
  const program = programName();
  const steps = [
    ...(service.login ? [`${program} login, each day, which prints the page to open`] : []),
    `${program} poll --symbols AAPL, which tries the account with one call`,
  ];
  const note = feed.kind === "simulated" ? null : experimentalNote(service);
  const all = [...(feed.kind === "simulated" ? [] : steps), `${program} start`];
  return [
    ...(note === null ? [] : [`Note       ${note}; ${program} doctor says what holds`]),
    ...all.map((step, place) => (place === 0 ? `Next       ${step}` : `           then ${step}`)),
  ];
}
