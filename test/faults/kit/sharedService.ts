/**
 * The project's own service with several keys, behind a server that logs whose each call is and what came of it, and
 * that refuses a key as a broker does whose token was revoked. Limits and signatures are the service's, but for accounts
 * whose calls are to be counted in another way.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { request as ask } from "undici";
import { COUNTING_RULES, type CountingRule, type RuleName } from "../../../bench/governor/service.ts";
import { systemClock } from "../../../src/ground/clock.ts";
import type { Credentials } from "../../../src/services/oauth/signature.ts";
import { SERVICE_LIMITS } from "../../../src/serve/limits.ts";
import { createQuoteService } from "../../../src/serve/quoteService.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import type { Arrival, Feed } from "./feed.ts";

/** A call as the service's log has it. */
export type SharedArrival = Arrival & {
  account: string;
  status: number;
  /** The collector that it came from; empty where calls bear no name. */
  collector: string;
};

/** A running one. */
export type SharedService = Feed & {
  arrivals: () => readonly Arrival[];
  /** Every call, those that were refused as well. */
  calls: () => readonly SharedArrival[];
  /** The credentials of each account. */
  keys: ReadonlyMap<string, Credentials>;
  /** Refuses an account's calls from now on with 401, or takes them again. */
  refuse: (account: string, refused: boolean) => void;
};

/**
 * Starts one on a free port of loopback.
 *
 * @param limit calls of each account in `windowMs`
 * @param rules how calls are counted, by account. Default: as the service does
 */
export async function startSharedService(
  keys: ReadonlyMap<string, Credentials>,
  {
    limit,
    windowMs,
    rules = {},
  }: { limit: number; windowMs: number; rules?: Readonly<Record<string, RuleName>> },
): Promise<SharedService> {
  const counts = new Map<string, CountingRule>(
    Object.entries(rules).map(([account, rule]) => [account, COUNTING_RULES[rule](windowMs)]),
  );
  const service = createQuoteService({
    source: createSimulatedMarket({ seed: 1 }),
    keys: [...keys.values()],
    clock: systemClock,
    limits: { ...SERVICE_LIMITS, quotes: counts.size > 0 ? Infinity : limit, windowMs },
  });
  const inner = await service.listen({ host: "127.0.0.1", port: 0 });
  const refused = new Set<string>();
  const calls: SharedArrival[] = [];
  const accountOf = (authorization: string): string => {
    const key = decodeURIComponent(/oauth_consumer_key="([^"]*)"/.exec(authorization)?.[1] ?? "");
    return [...keys].find(([, { consumerKey }]) => consumerKey === key)?.[0] ?? "";
  };
  const server = createServer((request, response) => {
    const account = accountOf(request.headers.authorization ?? "");
    const atMs = systemClock.now().getTime();
    const whose = { atMs, account, collector: String(request.headers["x-collector"] ?? "") };
    if (refused.has(account)) {
      calls.push({ ...whose, id: "", status: 401 });
      response.writeHead(401, { "WWW-Authenticate": "OAuth", Date: systemClock.now().toUTCString() }).end();
      return;
    }
    const counted = counts.get(account)?.(atMs, limit);
    const told = counted && {
      "X-RateLimit-Used": String(counted.usedCount),
      "X-RateLimit-Expire": String(Math.ceil(counted.expiresAtMs / 1_000)),
      "X-RateLimit-Limit": String(limit),
      "X-RateLimit-Remaining": String(limit - counted.usedCount),
    };
    if (counted?.accepted === false) {
      calls.push({ ...whose, id: "", status: 429 });
      response.writeHead(429, { ...told, Date: systemClock.now().toUTCString() }).end();
      return;
    }
    void ask(`${inner}${request.url ?? ""}`, { headers: request.headers as Record<string, string> }).then(
      async ({ statusCode, headers, body }) => {
        const text = await body.text();
        calls.push({ ...whose, id: /<response id="([^"]*)"/.exec(text)?.[1] ?? "", status: statusCode });
        const { connection: _, "transfer-encoding": __, ...kept } = headers;
        for (const [name, value] of Object.entries({ ...kept, ...told }))
          response.setHeader(name, value as string);
        response.writeHead(statusCode).end(text);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const quoted = (): SharedArrival[] => calls.filter(({ status }) => status === 200);
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered: () => quoted().length,
    arrivals: quoted,
    calls: () => calls,
    keys,
    refuse: (account, isRefused) => void (isRefused ? refused.add(account) : refused.delete(account)),
    close: async () => {
      await new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections());
      await service.close();
    },
  };
}
