/** The names and numbers that the ledger's tables have for markets, watchlists and whole chains. */
import type { LedgerSource } from "../../journal/ledger.ts";
import { SIMULATED_SOURCE } from "../connect/fixedNames.ts";

/** Stands for all that was due at a slot. */
export const ALL_INSTRUMENTS = "*";

/**
 * The numbers of the two markets that are polled, as the ledger has them; the first migration gives them. They are those of the
 * specification's service and of the simulated one; an account's slots have the first whatever service it is of.
 */
export const LEDGER_SOURCE_IDS: Readonly<Record<LedgerSource, number>> = {
  account: 1,
  simulated: SIMULATED_SOURCE,
};

/**
 * SQL: whether rows of a source are of the market that a number of the ledger stands for: those of each service are of an account.
 *
 * @param source column of the rows
 * @param market column or parameter with the ledger's number
 */
export const isOfMarket = (source: string, market: string): string =>
  `${source} in (select id from sources where kind = (select kind from sources where id = ${market}))`;

/** How the name of a watchlist begins in the ledger, and that of a whole chain. */
const WATCHLIST = "watchlist ";
export const CHAIN = "chain ";

/** Whether a name of the ledger is a watchlist's: each account has its own of that name. */
export const isWatchlist = (name: string): boolean => name.startsWith(WATCHLIST);

/** The name in the ledger of what an answer of many instruments was asked for, null of other answers: see `describeCall`. */
export const NAME_OF_ONE = `case r.request ->> 'form'
  when 'watchlist' then '${WATCHLIST}' || (r.request ->> 'watchlist')
  when 'chain' then '${CHAIN}' || regexp_replace(r.request ->> 'underlying', '^([^/]+)/([A-Za-z])$', '\\1.\\2') || ':'
    || (r.request ->> 'expiration') end`;
