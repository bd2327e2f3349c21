/**
 * The project's own service with several keys, behind a server that logs whose each call is and what came of it, and
 * that refuses a key as a broker does whose token was revoked. Limits and signatures are the service's.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { request as ask } from "undici";
import { systemClock } from "../../../src/clock.ts";
import type { Credentials } from "../../../src/quotes-api/oauth/signature.ts";
import { SERVICE_LIMITS } from "../../../src/serve/limits.ts";
import { createQuoteService } from "../../../src/serve/quoteService.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import type { Arrival, Feed } from "./feed.ts";

/** A call as the service's log has it. */
export type SharedArrival = Arrival & { account: string; status: number };

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

/** Starts one on a free port of loopback. @param limit calls of each account in `windowMs` */
export async function startSharedService(
  keys: ReadonlyMap<string, Credentials>,
  { limit, windowMs }: { limit: number; windowMs: number },
): Promise<SharedService> {
  const service = createQuoteService({
    source: createSimulatedMarket({ seed: 1 }),
    keys: [...keys.values()],
    clock: systemClock,
    limits: { ...SERVICE_LIMITS, quotes: limit, windowMs },
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
    if (refused.has(account)) {
      calls.push({ id: "", atMs, account, status: 401 });
      response.writeHead(401, { "WWW-Authenticate": "OAuth", Date: systemClock.now().toUTCString() }).end();
      return;
    }
    void ask(`${inner}${request.url ?? ""}`, { headers: request.headers as Record<string, string> }).then(
      async ({ statusCode, headers, body }) => {
        const text = await body.text();
        calls.push({ id: /<response id="([^"]*)"/.exec(text)?.[1] ?? "", atMs, account, status: statusCode });
        const { connection: _, "transfer-encoding": __, ...kept } = headers;
        response.writeHead(statusCode, kept as Record<string, string>).end(text);
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
