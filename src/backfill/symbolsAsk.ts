/** What `backfill --symbols-file` is asked for: the lines of a symbols file and the chains of the command line, checked. Pure. */
import { readSymbols } from "../schedule/symbolList.ts";
import { optionName, plainError, problemsOf, sentence } from "../config/wording.ts";
import type { FileProblem } from "../config/yamlFile.ts";
import { type Chain, chainSchema } from "../market/optionChain.ts";
import {
  CONTRACT_EXAMPLE,
  instrumentName,
  isSymbol,
  option,
  type OptionContract,
  readContractName,
} from "../market/instrument.ts";

/** What is to be polled, each once. */
export type SymbolsAsk = {
  /** As they stand in the file; OCC option symbols are among them. */
  symbols: string[];
  contracts: OptionContract[];
  chains: Chain[];
};

/** The file of a problem that is on the command line. */
export const COMMAND_LINE = "--chain";

/**
 * Reads a symbols file as `readSymbols` does; an option contract is `AAPL:2026-12-18:CALL:150`. Each once.
 */
export function readSymbolsFile(
  file: string,
  text: string,
): { symbols: string[]; contracts: OptionContract[]; problems: FileProblem[] } {
  const symbols: string[] = [];
  const contracts = new Map<string, OptionContract>();
  const { symbols: words, wrong } = readSymbols(text, (word) => word.includes(":") || isSymbol(word));
  for (const [word, line] of words) {
    if (!word.includes(":")) symbols.push(word);
    else {
      const contract = readContractName(word);
      if (typeof contract === "string")
        wrong.push({ line, message: `${contract}, expected for example ${CONTRACT_EXAMPLE}` });
      else contracts.set(instrumentName(option(contract)), contract);
    }
  }
  if (symbols.length === 0 && contracts.size === 0 && wrong.length === 0)
    wrong.push({ line: 1, message: "holds no symbol" });
  const problems = wrong.map((one) => ({ file, ...one }));
  return { symbols, contracts: [...contracts.values()], problems };
}

/** What a chain is where the command line does not say: the next monthly expiration, 10 % around the last price. */
const CHAIN_DEFAULTS = { next: "1", kind: "monthly", percent: "10", step: "5" };

/** Names that a chain of the command line understands, and where each belongs in a job file's chain. */
const CHAIN_PATHS: Readonly<Record<string, string>> = {
  next: "expirations.next",
  kind: "expirations.kind",
  dates: "expirations",
  percent: "strikes.percent",
  step: "strikes.step",
  strikes: "strikes",
  types: "types",
};

/**
 * Reads a chain of the command line: `AAPL`, or `AAPL:next=3,kind=monthly,percent=10,step=5,types=CALL+PUT`;
 * `dates=2026-12-18+2027-01-15` and `strikes=150+155` name them themselves; `dates=listed` and `strikes=all` are what the service
 * has. The rules are those of job files.
 */
export function readChain(text: string): { chain: Chain } | { problems: FileProblem[] } {
  const problem = (message: string): FileProblem => ({
    file: COMMAND_LINE,
    line: 1,
    message: `${text}: ${message}`,
  });
  const colon = text.indexOf(":");
  const underlying = colon < 0 ? text : text.slice(0, colon);
  const given = new Map<string, string>();
  const problems: FileProblem[] = [];
  for (const word of colon < 0 ? [] : text.slice(colon + 1).split(",")) {
    const [name = "", value = ""] = word.split(/=(.*)/s);
    if (!(name in CHAIN_PATHS))
      problems.push(
        problem(
          `${name || "an empty word"} is not an option here: expected ${Object.keys(CHAIN_PATHS).join(", ")}`,
        ),
      );
    else if (value === "") problems.push(problem(`${name} has no value, expected ${name}=...`));
    else if (given.has(name)) problems.push(problem(`${name} is given twice`));
    else given.set(name, value);
  }
  for (const [list, others] of [
    ["dates", ["next", "kind"]],
    ["strikes", ["percent", "step"]],
  ] as const)
    for (const other of others)
      if (given.has(list) && given.has(other)) problems.push(problem(`${other} does not go with ${list}`));
  const parsed = chainSchema.safeParse(chainOf(underlying, given), { error: plainError });
  if (!parsed.success)
    problems.push(
      ...parsed.error.issues.flatMap(problemsOf).map((one) => {
        const path = optionName(one.path);
        const name =
          Object.keys(CHAIN_PATHS).find((key) => given.has(key) && path.startsWith(CHAIN_PATHS[key] ?? "")) ??
          path;
        return problem(sentence({ ...one, path: [name] }, given.get(name) ?? underlying));
      }),
    );
  return parsed.success && problems.length === 0 ? { chain: parsed.data } : { problems };
}

/** The chain as a job file would have it. */
function chainOf(underlying: string, given: ReadonlyMap<string, string>): object {
  const value = (name: keyof typeof CHAIN_DEFAULTS): string => given.get(name) ?? CHAIN_DEFAULTS[name];
  const next = value("next");
  const list = (name: string, word?: string): string | string[] | undefined =>
    given.get(name) === word ? word : given.get(name)?.split("+");
  return {
    underlying,
    expirations: list("dates", "listed") ?? {
      next: /^\d+$/.test(next) ? Number(next) : next,
      kind: value("kind"),
    },
    strikes: list("strikes", "all") ?? { around: "last", percent: value("percent"), step: value("step") },
    types: given
      .get("types")
      ?.split("+")
      .map((type) => type.toUpperCase()),
  };
}
