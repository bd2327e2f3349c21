/** The answers of `quotekeeper init`: from flags, the environment, the person at the terminal, or the defaults. */
import { QuotekeeperError } from "../../errors.ts";
import type { Edges } from "../../run/edges.ts";
import type { Asker } from "../terminal/asker.ts";
import { say } from "../terminal/harmless.ts";
import { type Answers, isSet, type Name, NAMES, questionsOf } from "./questions.ts";
import { type Asking, tryAccount, tryDatabase, type Tried } from "./settings.ts";

type Sources = Asking & {
  given: Partial<Record<Name, string>>;
  /** Whether questions without a flag have their defaults. */
  yes: boolean;
};

/** The variable that answers a question: it goes before `.env`, so another answer would have no effect. */
const VARIABLE_OF: Partial<Record<Name, string>> = { account: "QUOTES_BASE_URL", database: "DATABASE_URL" };

const TRY: Partial<Record<Name, (answer: string, asking: Asking) => Promise<Tried>>> = {
  account: tryAccount,
  database: tryDatabase,
};

export function isAnsweredByEnvironment(name: Name, env: Edges["env"]): boolean {
  const variable = VARIABLE_OF[name];
  return variable !== undefined && isSet(variable, env);
}

/**
 * All five answers, checked, and the lines of `.env` that follow from them.
 *
 * @throws QuotekeeperError USAGE with everything that is wrong with the flags; Interrupted
 */
export async function answersTo(sources: Sources): Promise<{ answers: Answers; lines: string[] }> {
  const { edges, given, yes, asker } = sources;
  const open = NAMES.filter((name) => given[name] === undefined && !isAnsweredByEnvironment(name, edges.env));
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
    } else if (isAnsweredByEnvironment(name, edges.env)) {
      lines.push(`# ${VARIABLE_OF[name]} comes from the environment.`);
    } else {
      const answer = (answers[name] = given[name] ?? questionsOf(edges)[name].otherwise);
      const tried = await tryAnswer(name, answer, sources);
      if ("problem" in tried) throw usage([`--${name}: ${tried.problem}`]);
      lines.push(...tried.lines);
    }
  }
  return { answers, lines };
}

/** Problems of the flags, found before the first question. */
function wrongFlags({ edges, given }: Sources): string[] {
  const questions = questionsOf(edges);
  return NAMES.flatMap((name) => {
    const answer = given[name];
    if (answer === undefined) return [];
    if (isAnsweredByEnvironment(name, edges.env))
      return [`--${name}: ${VARIABLE_OF[name]} is set in the environment, which goes before .env: unset it`];
    const problem = questions[name].problem(answer);
    return problem === null ? [] : [`--${name}: ${problem}`];
  });
}

async function tryAnswer(name: Name, answer: string, asking: Asking): Promise<Tried> {
  const problem = questionsOf(asking.edges)[name].problem(answer);
  if (problem !== null) return { problem };
  return (await TRY[name]?.(answer, asking)) ?? { lines: [] };
}

/** Asks one question until the answer is right, and says at once what is wrong with an answer. */
async function untilRight(
  name: Name,
  { edges, asker }: { edges: Edges; asker: Asker },
): Promise<{ answer: string; lines: string[] }> {
  const { words, otherwise } = questionsOf(edges)[name];
  say(edges.stdout, "", `${NAMES.indexOf(name) + 1} of ${NAMES.length}  ${words}`);
  for (;;) {
    const answer = (await asker.ask(`${name} [${otherwise}]: `)) || otherwise;
    const tried = await tryAnswer(name, answer, { edges, asker });
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
