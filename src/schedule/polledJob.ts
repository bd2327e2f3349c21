/** What a job asks, beside what its service has. Pure. */
import { dirname, resolve } from "node:path";
import { type Account, lackOfDelayed, onlyDelayed } from "../accounts/account.ts";
import { instrumentName, option, type OptionContract } from "../market/instrument.ts";
import { parseOccSymbol } from "../market/occ.ts";
import { type Chain, isWhole, needsList } from "../market/optionChain.ts";
import { inLists } from "../services/registry.ts";
import type { Job, JobFile } from "./jobSchema.ts";

export type PolledMarket = Pick<Account, "service" | "feed">;

export function lacksOf(
  { watchlist, delayed, options = [], chains = [] }: JobFile,
  market: PolledMarket,
  told: (option: string, message: string) => void,
): void {
  const { title, write } = market.service;
  const lack = chains.map((chain) => lackOfChain(chain, market.service)).find((found) => found !== null);
  if (lack) told("chains", `chains: ${lack}`);
  const lacks = options.map(({ type, ...asked }) =>
    lackOfContract({ ...asked, optionType: type }, market.service),
  );
  const ofOption = lacks.find((found) => found !== null);
  if (ofOption) told("options", `options: ${ofOption}`);
  if (watchlist !== undefined && !write.watchlist)
    told("watchlist", `watchlist: ${title} has no watchlists, name the symbols`);
  const noDelayed = delayed ? lackOfDelayed(market) : null;
  if (noDelayed !== null) told("delayed", `delayed is true: ${noDelayed}`);
}

/** What a chain asks that a service does not have; null: nothing. */
export function lackOfChain(
  chain: Chain,
  service: Pick<PolledMarket["service"], "title" | "write" | "lackOf">,
): string | null {
  const { title, write } = service;
  const { underlying, strikes, expirations, types } = chain;
  if (isWhole(chain) && !write.chain)
    return `${title} has no whole chains: name the strikes of ${underlying}`;
  if (needsList(chain) && !write.expirations)
    return `${title} lists no expirations: name those of ${underlying}`;
  if (strikes === "all") return null;
  const named = Array.isArray(strikes) ? strikes : [ANY.strike];
  const dates = Array.isArray(expirations) ? expirations : [ANY.expiration];
  const lacks = named.flatMap((strike) =>
    dates.map((expiration) =>
      lackOfContract({ underlying, expiration, strike, optionType: types[0] ?? "CALL" }, service),
    ),
  );
  return lacks.find((lack) => lack !== null) ?? null;
}

/** Stands for what a chain computes: each service that has a form for one such contract has one for all. */
const ANY = { strike: "100", expiration: "2030-01-18" };

/** Why a service cannot be asked for a contract; null: it can. */
export function lackOfContract(
  contract: OptionContract,
  { title, lackOf }: Pick<PolledMarket["service"], "title" | "lackOf">,
): string | null {
  const lack = lackOf?.(contract) ?? null;
  return lack && `${title} cannot be asked for ${instrumentName(option(contract))}: it ${lack}`;
}

/** The job of a file, as its service takes it. */
export function toJob(
  job: JobFile,
  { file, symbols, market }: { file: string; symbols: string[]; market: PolledMarket | null },
): Job {
  const { name, schedule, timezone, session, priority } = job;
  return {
    name,
    file,
    schedule,
    timezone,
    session,
    priority,
    symbols,
    delayed: (market && onlyDelayed(market)) ?? job.delayed,
    ...(job.account !== undefined && { account: job.account }),
    symbolsFile: job.symbolsFile === undefined ? null : resolve(dirname(file), job.symbolsFile),
    watchlist: job.watchlist ?? null,
    ...(market && inLists(market.service)),
    options: (job.options ?? []).map(({ type, ...asked }) => ({ ...asked, optionType: type })),
    chains: [...(job.chains ?? []), ...(market?.service.listsInterest ? interestLists(job, symbols) : [])],
  };
}

/**
 * Chains that stand for no contract, so that the list of an underlying's expirations is asked for once a day: the open interest of its
 * contracts comes with it.
 */
function interestLists({ chains = [], options = [] }: JobFile, symbols: readonly string[]): Chain[] {
  const listed = new Set(chains.filter(needsList).map(({ underlying }) => underlying));
  const contracts = symbols.flatMap((symbol) => parseOccSymbol(symbol) ?? []);
  const underlyings = new Set([...chains, ...options, ...contracts].map(({ underlying }) => underlying));
  return [...underlyings]
    .filter((underlying) => !listed.has(underlying))
    .map((underlying) => ({ underlying, expirations: "listed", strikes: [], types: [] }));
}
