/** The answers of `quotekeeper init`: from flags, from the environment, from whoever sits at the terminal, or by default. */
import { QuotekeeperError } from "../../errors.ts";
import type { Edges } from "../../run/edges.ts";
import type { Asker } from "../terminal/asker.ts";
import { say } from "../terminal/harmless.ts";
import { type Answers, isSet, type Name, NAMES, questionsOf } from "./questions.ts";
import { type Asking, settleAccount, settleDatabase, type Settled } from "./settings.ts";

/** Where answers come from. */
type Sources = Asking & {
  /** The flags. */
  given: Partial<Record<Name, string>>;
  /** Whether whatever no flag answers has its default. */
  yes: boolean;
};

/** The variable that settles a question: it goes before `.env`, so another answer would have no effect. */
const SETTLED_BY: Partial<Record<Name, string>> = { account: "QUOTES_BASE_URL", database: "DATABASE_URL" };

const SETTLE: Partial<Record<Name, (answer: string, asking: Asking) => Promise<Settled>>> = {
  account: settleAccount,
  database: settleDatabase,
};

/** Whether the environment answers a question. */
export function isSettled(name: Name, env: Edges["env"]): boolean {
  const variable = SETTLED_BY[name];
  return variable !== undefined && isSet(variable, env);
}

/**
 * All five answers, each found right, and the lines of `.env` that follow from them.
 *
 * @throws QuotekeeperError USAGE with everything that is wrong with the flags; Interrupted
 */
export async function answersTo(sources: Sources): Promise<{ answers: Answers; lines: string[] }> {
  const { edges, given, yes, asker } = sources;
  const open = NAMES.filter((name) => given[name] === undefined && !isSettled(name, edges.env));
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
      const asked = await untilRight(name, { edges, asker });
      answers[name] = asked.answer;
      lines.push(...asked.lines);
    } else if (isSettled(name, edges.env)) {
      lines.push(`# ${SETTLED_BY[name]} comes from the environment.`);
    } else {
      const answer = (answers[name] = given[name] ?? questionsOf(edges)[name].otherwise);
      const settled = await settle(name, answer, sources);
      if ("problem" in settled) throw usage([`--${name}: ${settled.problem}`]);
      lines.push(...settled.lines);
    }
  }
  return { answers, lines };
}

/** What can be told of the flags before anybody is asked anything. */
function wrongFlags({ edges, given }: Sources): string[] {
  const questions = questionsOf(edges);
  return NAMES.flatMap((name) => {
    const answer = given[name];
    if (answer === undefined) return [];
    if (isSettled(name, edges.env))
      return [`--${name}: ${SETTLED_BY[name]} is set in the environment, which goes before .env: unset it`];
    const problem = questions[name].problem(answer);
    return problem === null ? [] : [`--${name}: ${problem}`];
  });
}

async function settle(name: Name, answer: string, asking: Asking): Promise<Settled> {
  const problem = questionsOf(asking.edges)[name].problem(answer);
  if (problem !== null) return { problem };
  return (await SETTLE[name]?.(answer, asking)) ?? { lines: [] };
}

/** Asks one question until its answer is right; what is wrong with one is said at once. */
async function untilRight(
  name: Name,
  { edges, asker }: { edges: Edges; asker: Asker },
): Promise<{ answer: string; lines: string[] }> {
  const { words, otherwise } = questionsOf(edges)[name];
  say(edges.stdout, "", `${NAMES.indexOf(name) + 1} of ${NAMES.length}  ${words}`);
  for (;;) {
    const answer = (await asker.ask(`${name} [${otherwise}]: `)) || otherwise;
    const settled = await settle(name, answer, { edges, asker });
    if ("lines" in settled) return { answer, lines: settled.lines };
    say(edges.stdout, settled.problem);
  }
}

/** USAGE with one problem, or a list of several. */
function usage(problems: readonly string[]): QuotekeeperError {
  const [only = ""] = problems;
  return problems.length === 1
    ? new QuotekeeperError("USAGE", only)
    : new QuotekeeperError("USAGE", "several answers are wrong:", { problems });
}
