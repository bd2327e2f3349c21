/** A recount of Alpaca's pages from the journal's bodies alone, with no reader of the program. */
import type pg from "pg";
import type { Brought, Kept } from "./chainRecount.ts";

type Snapshot = { latestQuote?: { bp: number; ap: number }; latestTrade?: { p: number } };

/** A page of a chain or of the contracts. */
type Page = { next_page_token?: string | null; snapshots?: Record<string, Snapshot> };

/**
 * What the answers brought, by runs of pages: a chain is there when each page, from the first to the one without a token, was asked for
 * by the token of the page before.
 *
 * @returns `cut`: how many runs lack their end
 */
export function runsOf(kept: readonly Kept[]): { brought: Brought[]; cut: number } {
  const brought: Brought[] = [];
  const begun = new Map<string, { token: string; fromMs: number }>();
  let [first, whole] = [0, 0];
  for (const { request, body, askedMs } of kept) {
    if (request.form === "symbols") {
      const names = Object.keys(JSON.parse(body) as object);
      brought.push(...names.map((name) => ({ name, fromMs: askedMs, askedMs })));
    }
    if (request.form !== "chain") continue;
    const name = `chain ${request.underlying}:${request.expiration}`;
    const before = begun.get(name);
    if (request.page === undefined) first += 1;
    // A page of another run.
    else if (before === undefined || tokenOf(request.page) !== before.token) continue;
    const fromMs = request.page === undefined ? askedMs : (before?.fromMs ?? askedMs);
    const { next_page_token: token } = JSON.parse(body) as Page;
    begun.delete(name);
    if (token) begun.set(name, { token, fromMs });
    else {
      whole += 1;
      brought.push({ name, fromMs, askedMs });
    }
  }
  return { brought, cut: first - whole };
}

/** Chains of which a page was asked for though the slot that it was asked for had all of them, in words. */
export function askedAgain(kept: readonly Kept[]): string[] {
  const whole = new Set<string>();
  return kept.flatMap(({ request, slotAt, body }) => {
    if (request.form !== "chain") return [];
    const name = `chain ${request.underlying}:${request.expiration} at ${slotAt}`;
    if (whole.has(name)) return [`${name} was asked for again`];
    if (!(JSON.parse(body) as Page).next_page_token) whole.add(name);
    return [];
  });
}

/** Pages of chains whose rows of `quotes` are not those of their bodies, in words. */
export async function lostRows(pool: pg.Pool, kept: readonly Kept[]): Promise<string[]> {
  const pages = kept.filter(({ request }) => request.form === "chain");
  const { rows } = await pool.query<{ at: string; quotes: string[] }>(
    `select w.at, array(
       select concat_ws(' ', i.symbol || to_char(i.expiration, 'YYMMDD') || left(i.option_type, 1)
           || lpad((i.strike * 1000)::int::text, 8, '0'),
         coalesce(q.bid, 0)::float8, coalesce(q.ask, 0)::float8, q.last::float8)
       from quotes q join instruments i on i.id = q.instrument_id where q.observed_at = w.at::timestamptz) as quotes
     from unnest($1::text[]) as w (at)`,
    [pages.map(({ observedAt }) => observedAt)],
  );
  const stored = new Map(rows.map(({ at, quotes }) => [at, quotes]));
  return pages.flatMap(({ observedAt, body }) => {
    const { snapshots = {} } = JSON.parse(body) as Page;
    const came = Object.entries(snapshots).map(([name, { latestQuote, latestTrade }]) =>
      [name, latestQuote?.bp ?? 0, latestQuote?.ap ?? 0, ...(latestTrade ? [latestTrade.p] : [])].join(" "),
    );
    const found = stored.get(observedAt) ?? [];
    return found.toSorted().join() === came.toSorted().join()
      ? []
      : [`the page of ${observedAt} has ${found.length} quotes in place of its ${came.length}`];
  });
}

/** A page is named by its root and its token. */
function tokenOf(page: string): string {
  return page.slice(page.indexOf(" ") + 1);
}
