/** What a job asks, beside what its service has. Pure. */
import { type Account, onlyDelayed } from "../accounts/account.ts";
import type { Job, JobFile } from "./jobSchema.ts";

export type PolledMarket = Pick<Account, "service" | "feed">;

/** Notifies of what a job asks that its service does not have. */
export function lacksOf(
  { watchlist, delayed }: JobFile,
  market: PolledMarket,
  told: (option: string, message: string) => void,
): void {
  const { title, forms } = market.service;
  if (watchlist !== undefined && !forms.includes("watchlist"))
    told("watchlist", `watchlist: ${title} has no watchlists, name the symbols`);
  if (delayed && onlyDelayed(market) === false)
    told("delayed", `delayed is true: ${title} has no delayed quotes at this address`);
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
