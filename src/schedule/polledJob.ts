/** What a job asks, beside what its service has. Pure. */
import { type Account, lackOfDelayed, onlyDelayed } from "../accounts/account.ts";
import { type Chain, isWhole, needsList } from "../market/optionChain.ts";
import type { Job, JobFile } from "./jobSchema.ts";

export type PolledMarket = Pick<Account, "service" | "feed">;

/** Notifies of what a job asks that its service does not have. */
export function lacksOf(
  { watchlist, delayed, chains = [] }: JobFile,
  market: PolledMarket,
  told: (option: string, message: string) => void,
): void {
  const { title, forms } = market.service;
  const lack = chains.map((chain) => lackOfChain(chain, market.service)).find((found) => found !== null);
  if (lack) told("chains", `chains: ${lack}`);
  if (watchlist !== undefined && !forms.includes("watchlist"))
    told("watchlist", `watchlist: ${title} has no watchlists, name the symbols`);
  const noDelayed = delayed ? lackOfDelayed(market) : null;
  if (noDelayed !== null) told("delayed", `delayed is true: ${noDelayed}`);
}

/** What a chain asks that a service does not have; null: nothing. */
export function lackOfChain(
  chain: Chain,
  { title, forms }: Pick<PolledMarket["service"], "title" | "forms">,
): string | null {
  const { underlying } = chain;
  if (isWhole(chain) && !forms.includes("chain"))
    return `${title} has no whole chains: name the strikes of ${underlying}`;
  if (needsList(chain) && !forms.includes("expirations"))
    return `${title} lists no expirations: name those of ${underlying}`;
  return null;
}

/** A job as its service takes it. */
export function asPolled(job: Job, market: PolledMarket | null): Job {
  if (market === null) return job;
  return {
    ...job,
    delayed: onlyDelayed(market) ?? job.delayed,
    ...(market.service.optionsInList && { optionsInList: true }),
  };
}
