/**
 * A fake of Alpaca over HTTP: the snapshots of its data host and the option contracts of its trading host, with the simulated market's
 * prices. Written from the official specification and published probes, and where it guesses it says so ("Assumed:").
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../../src/ground/clock.ts";
import { createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { type FaultAnswer, faultOf, type FaultRule, SLOW_MS } from "../faultRules.ts";
import { listen, type Reply, send } from "../http.ts";
import { type ListingRules, MANY_ROOTS, MOST_STRIKES } from "../listing.ts";
import { faultAnswer, type FaultName, type Host, NO_KEYS, OVER_LIMIT, WRONG_KEYS } from "./faults.ts";
import { BASIC_LIMIT, createLimit, type LimitOptions } from "./limit.ts";
import { type Plan, route, type RouteContext } from "./routes.ts";
import { createSnapshots, type SnapshotOptions } from "./snapshots.ts";

/** The key of a paper account that the fake knows, where no option says another. */
export const KEYS = {
  keyId: "PKFAKE0000000000FAKE",
  secretKey: "fake-alpaca-secret-of-a-paper-account",
} as const;

export type FakeAlpacaOptions = Partial<Omit<SnapshotOptions, "market"> & ListingRules> &
  Pick<SnapshotOptions, "market"> & {
    /** Tells the time of quotes, headers and the limit, and lets the time of slow bodies pass. */
    clock: Clock;
    keys?: { keyId: string; secretKey: string };
    /** basic is free: `iex`, `delayed_sip` and `indicative` alone. Default: basic. */
    plan?: Plan;
    /** The trading host is that of live accounts, and refuses a paper account's key. Default: false. */
    isLive?: boolean;
    /** Of each host by itself. Default: `BASIC_LIMIT`. */
    limit?: Partial<LimitOptions>;
    adjusted?: RouteContext["adjusted"];
    /** Default: as many as are asked for. */
    mostOfAPage?: RouteContext["mostOfAPage"];
    /** Default: as `mostOfAPage`. */
    mostOfAList?: RouteContext["mostOfAList"];
    /** Faults on purpose. */
    faults?: readonly FaultRule<FaultName>[];
    /** Of the data host; the trading host has the next one. Default: 0, any free ports of loopback. */
    port?: number;
  };

/** A call as the fake saw it, without its keys. */
export type FakeCall = {
  /** From 1, over both hosts. */
  number: number;
  at: Date;
  host: Host;
  path: string;
  query: Readonly<Record<string, string>>;
  /** Null until it is answered, and for good where the connection was closed instead. */
  status: number | null;
  fault: FaultName | null;
};

export type FakeAlpaca = {
  dataUrl: string;
  tradingUrl: string;
  /** All calls so far, in order. */
  calls: readonly FakeCall[];
  /** The next calls meet this fault. @param times default: 1 */
  failNext: (fault: FaultName, times?: number) => void;
  close: () => Promise<void>;
};

/** Starts both hosts on loopback. @throws Error of Node when a port is taken */
export async function startFakeAlpaca(options: FakeAlpacaOptions): Promise<FakeAlpaca> {
  const { clock, market, keys = KEYS, plan = "basic", port = 0 } = options;
  const calendar = options.calendar ?? createCalendar();
  const context: RouteContext = {
    plan,
    adjusted: options.adjusted ?? {},
    mostOfAPage: options.mostOfAPage ?? Infinity,
    mostOfAList: options.mostOfAList ?? options.mostOfAPage ?? Infinity,
    manyRoots: options.manyRoots ?? MANY_ROOTS,
    mostStrikes: options.mostStrikes ?? MOST_STRIKES,
    snapshots: createSnapshots({
      market,
      calendar,
      trading: options.trading ?? (() => null),
      canceled: options.canceled ?? new Set(),
    }),
  };
  const limit = { ...BASIC_LIMIT, ...options.limit };
  const counts: Readonly<Record<Host, ReturnType<typeof createLimit>>> = {
    data: createLimit(limit),
    trading: createLimit(limit),
  };
  const calls: FakeCall[] = [];
  const next: FaultName[] = [];
  const closing = new AbortController();

  /** Assumed: what is refused for its keys does not count, and has no headers of the limit. */
  function replyTo(call: FakeCall, { headers }: IncomingMessage, fields: URLSearchParams): Reply {
    const refused = refusalOf(headers);
    if (refused) return refused[call.host];
    const { isAnswered, headers: counted } = counts[call.host](call.at.getTime());
    if (!isAnswered) return { ...OVER_LIMIT[call.host], headers: counted };
    call.fault = next.shift() ?? faultOf(options.faults ?? [], call);
    const answer = faultAnswer(call.fault) ?? route(call.host, call.path, { fields, at: call.at }, context);
    return [200, 400, 429].includes(answer.status) ? { ...answer, headers: counted } : answer;
  }

  function refusalOf(headers: IncomingMessage["headers"]): Readonly<Record<Host, FaultAnswer>> | null {
    const [id, secret] = [headers["apca-api-key-id"], headers["apca-api-secret-key"]];
    if (id === undefined || secret === undefined) return NO_KEYS;
    if (id !== keys.keyId || secret !== keys.secretKey) return WRONG_KEYS;
    // The data host takes the key of either environment, a trading host that of its own.
    return null;
  }

  const serveAs =
    (host: Host) =>
    async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://fake");
      const call: FakeCall = {
        number: calls.length + 1,
        at: clock.now(),
        host,
        path: pathname,
        query: Object.fromEntries(searchParams),
        status: null,
        fault: null,
      };
      calls.push(call);
      const reply =
        host === "trading" && options.isLive
          ? WRONG_KEYS.trading
          : request.method === "GET"
            ? replyTo(call, request, searchParams)
            : { status: 405, type: "text/plain", body: "" };
      if (call.fault === "closedConnection") return void request.socket.destroy();
      call.status = reply.status;
      await send(reply, { response, call, sleep: () => clock.sleep(SLOW_MS, closing.signal) });
    };

  const data = await listen(serveAs("data"), port);
  const trading = await listen(serveAs("trading"), port === 0 ? 0 : port + 1);
  return {
    dataUrl: data.baseUrl,
    tradingUrl: trading.baseUrl,
    calls,
    failNext: (fault, times = 1) => void next.push(...Array<FaultName>(times).fill(fault)),
    close: async () => {
      closing.abort();
      await Promise.all([data.close(), trading.close()]);
    },
  };
}
