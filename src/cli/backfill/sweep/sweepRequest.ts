/** What a sweep was asked for: read, checked, and given its name. */
import { resolve } from "node:path";
import { lackOfDelayed } from "../../../accounts/account.ts";
import { type SweepAsk, COMMAND_LINE, readChain, readSymbolsFile } from "../../../backfill/sweep/ask.ts";
import { sweepName } from "../../../backfill/sweep/runFile.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { counted } from "../../../figures.ts";
import { describeProblem, type FileProblem } from "../../../config/yamlFile.ts";
import { QuotekeeperError } from "../../../errors.ts";
import { instrumentName, option } from "../../../market/instrument.ts";
import { readTextFile } from "../../../plainFiles.ts";
import type { Edges } from "../../../run/edges.ts";
import { lackOfChain, lackOfContract } from "../../../schedule/polledJob.ts";
import type { CommonRequest } from "../report.ts";

export type SweepRequest = CommonRequest & {
  /** Path of the symbols file, relative to the working directory; null: there is none. */
  symbolsFile: string | null;
  chains: string[];
  delayed: boolean;
  /** Begin anew although an earlier sweep of the same was not finished. */
  restart: boolean;
  /** The account that polls; null: all. */
  account: string | null;
};

/** What is to be swept, read and checked. */
export type Wanted = {
  /** The same whenever the same instruments are asked of the same service, in whatever order. */
  name: string;
  /** Which service is asked: a sweep of one is not gone on with at another. Holds no secret. */
  service: string;
  ask: SweepAsk;
  request: SweepRequest;
};

/** @throws QuotekeeperError SWEEP_INVALID with all problems of the file, of the chains and of what the service does not have */
export async function readWanted(
  polled: Pick<Config, "service" | "feed">,
  edges: Pick<Edges, "directory">,
  request: SweepRequest,
): Promise<Wanted> {
  const ask = await readAsk(edges, request, polled);
  const service = serviceOf(polled.feed);
  const name = sweepName({
    symbols: ask.symbols.toSorted(),
    contracts: ask.contracts.map((contract) => instrumentName(option(contract))).toSorted(),
    chains: ask.chains,
    delayed: request.delayed,
    service,
  });
  return { name, service, ask, request };
}

async function readAsk(
  { directory }: Pick<Edges, "directory">,
  { symbolsFile, chains, delayed }: SweepRequest,
  polled: Pick<Config, "service" | "feed">,
): Promise<SweepAsk> {
  const noDelayed = delayed ? lackOfDelayed(polled) : null;
  const problems: FileProblem[] =
    noDelayed === null ? [] : [{ file: COMMAND_LINE, line: 1, message: `--delayed: ${noDelayed}` }];
  const ask: SweepAsk = { symbols: [], contracts: [], chains: [] };
  if (symbolsFile !== null) {
    const file = await readFileOf(resolve(directory, symbolsFile));
    problems.push(...file.problems);
    [ask.symbols, ask.contracts] = [file.symbols, file.contracts];
    const lack = file.contracts.map((one) => lackOfContract(one, polled.service)).find((one) => one !== null);
    if (lack) problems.push({ file: symbolsFile, line: 1, message: lack });
  }
  for (const text of chains) {
    const read = readChain(text);
    if ("problems" in read) {
      problems.push(...read.problems);
      continue;
    }
    const lack = lackOfChain(read.chain, polled.service);
    if (lack !== null) problems.push({ file: COMMAND_LINE, line: 1, message: `${text}: ${lack}` });
    ask.chains.push(read.chain);
  }
  if (problems.length > 0) throw invalid(problems);
  return ask;
}

function serviceOf(feed: Config["feed"]): string {
  if (feed.kind === "simulated") return "simulated";
  const { host, pathname } = new URL(feed.baseUrl);
  return `${host}${pathname}`;
}

async function readFileOf(path: string): Promise<ReturnType<typeof readSymbolsFile>> {
  try {
    return readSymbolsFile(path, await readTextFile(path));
  } catch (error) {
    const message = `the file cannot be read (${(error as NodeJS.ErrnoException).code})`;
    return { symbols: [], contracts: [], problems: [{ file: path, line: 1, message }] };
  }
}

function invalid(problems: readonly FileProblem[]): QuotekeeperError {
  const lines = problems.map((problem) =>
    problem.file === COMMAND_LINE ? `${COMMAND_LINE} ${problem.message}` : describeProblem(problem),
  );
  const count = counted(problems.length, "problem");
  return new QuotekeeperError("SWEEP_INVALID", `${count} in what is to be swept:`, { problems: lines });
}
