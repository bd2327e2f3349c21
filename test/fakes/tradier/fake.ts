/**
 * A fake of Tradier's Brokerage API v1 over HTTP, market data alone: quotes, option chains and expirations of the simulated
 * market. It holds to what is public of the service, and says where that is a guess ("Assumed:").
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { Clock } from "../../../src/ground/clock.ts";
import { createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { DELAY_MS } from "../../../src/serve/source.ts";
import { type FaultAnswer, faultOf, type FaultRule, SLOW_MS } from "../faultRules.ts";
import { listen, type Reply, send } from "../http.ts";
import { MANY_ROOTS, MOST_STRIKES } from "../listing.ts";
import { writeJson, writeXml } from "../wire.ts";
import { type Answers, type AnswersOptions, createAnswers } from "./answers.ts";
import {
  EXPIRED_TOKEN,
  faultAnswer,
  type FaultName,
  INVALID_TOKEN,
  OTHER_ENVIRONMENT,
  OVER_LIMIT,
} from "./faults.ts";
import { createLimit, type LimitOptions, LIMITS } from "./limit.ts";
import { Problem, route } from "./routes.ts";
import { JSON_TYPE, XML_TYPE } from "./wire.ts";

/** Tokens that the fake knows, where no option says others. */
export const TOKENS = {
  token: "fake-tradier-token",
  otherEnvironment: "fake-tradier-token-of-the-other-environment",
  expired: "fake-tradier-token-that-expired",
} as const;

export type FakeTradierOptions = Partial<Omit<AnswersOptions, "market">> & {
  /** Tells the time of quotes, headers and the limit, and lets the time of slow bodies pass. */
  clock: Clock;
  /** `createSimulatedMarket({ seed })` */
  market: AnswersOptions["market"];
  /** Quotes are 15 minutes old, and nothing in the answer says so; the limit is another. Default: production. */
  sandbox?: boolean;
  /** Tokens besides the defaults of `TOKENS`. */
  tokens?: Partial<Record<keyof typeof TOKENS, string>>;
  /** Default: `LIMITS` of the environment. */
  limit?: Partial<LimitOptions>;
  /** What is answered over the limit; default: `OVER_LIMIT`, a 429. Elsewhere the same body came with 500 and 403. */
  overLimit?: Partial<FaultAnswer>;
  /** Faults on purpose. */
  faults?: readonly FaultRule<FaultName>[];
  /**
   * Most characters of a GET's path and query; a longer one is a 414.
   *
   * Assumed: 8,000. The documentation has POST for long lists and names no number.
   */
  longestTarget?: number;
  /** Default: 0, any free port of loopback. */
  port?: number;
};

/** A call as the fake saw it, without its token. */
export type FakeCall = {
  /** From 1. */
  number: number;
  at: Date;
  method: string;
  path: string;
  /** Of `symbols`, or the one of `symbol`. */
  symbols: readonly string[];
  /** Of a chain; else null. */
  expiration: string | null;
  /** Null until it is answered, and for good where the connection was closed instead. */
  status: number | null;
  fault: FaultName | null;
};

export type FakeTradier = {
  /** Without `/v1`. */
  baseUrl: string;
  /** All calls so far, in order. */
  calls: readonly FakeCall[];
  /** The next calls meet this fault. @param times default: 1 */
  failNext: (fault: FaultName, times?: number) => void;
  /** From now on the token is one that has expired. */
  expireToken: () => void;
  close: () => Promise<void>;
};

/** Starts the fake on loopback. @throws Error of Node when the port is taken */
export async function startFakeTradier(options: FakeTradierOptions): Promise<FakeTradier> {
  const { clock, market, sandbox = false, port = 0, longestTarget = 8_000 } = options;
  const answers = createAnswers({
    market,
    calendar: options.calendar ?? createCalendar(),
    trading: options.trading ?? (() => null),
    manyRoots: options.manyRoots ?? MANY_ROOTS,
    mostStrikes: options.mostStrikes ?? MOST_STRIKES,
  });
  const take = createLimit({ ...LIMITS[sandbox ? "sandbox" : "production"], ...options.limit });
  const tokens: Record<keyof typeof TOKENS, string> = { ...TOKENS, ...options.tokens };
  const calls: FakeCall[] = [];
  const next: FaultName[] = [];
  const closing = new AbortController();
  let isExpired = false;

  /** The service's order of checks. Assumed: all of it; what is refused for its token does not count. */
  function replyTo(call: FakeCall, asked: Asked): Reply {
    if (call.method === "GET" && asked.target.length > longestTarget)
      return plain(414, "Request-URI Too Long");
    const refused = refusalOf(asked.token, { tokens, isExpired });
    if (refused) return refused;
    const { isAnswered, headers } = take(call.at.getTime());
    if (!isAnswered) return { ...OVER_LIMIT, ...options.overLimit, headers };
    call.fault = next.shift() ?? faultOf(options.faults ?? [], call);
    const at = new Date(call.at.getTime() - (sandbox ? DELAY_MS : 0));
    return { ...(faultAnswer(call.fault) ?? answerTo(asked, answers, at)), headers };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await askedOf(request);
    const call: FakeCall = {
      number: calls.length + 1,
      at: clock.now(),
      method: request.method ?? "",
      path: asked.path,
      symbols: (asked.fields.get("symbols") ?? asked.fields.get("symbol") ?? "").split(",").filter(Boolean),
      expiration: asked.fields.get("expiration"),
      status: null,
      fault: null,
    };
    calls.push(call);
    const reply = replyTo(call, asked);
    if (call.fault === "closedConnection") return void request.socket.destroy();
    call.status = reply.status;
    await send(reply, { response, call, sleep: () => clock.sleep(SLOW_MS, closing.signal) });
  }

  const { baseUrl, close } = await listen(serve, port);
  return {
    baseUrl,
    calls,
    failNext: (fault, times = 1) => void next.push(...Array<FaultName>(times).fill(fault)),
    expireToken: () => void (isExpired = true),
    close: () => {
      closing.abort();
      return close();
    },
  };
}

type Asked = {
  method: string;
  target: string;
  path: string;
  /** Of the query of a GET, and of the body of a POST. */
  fields: URLSearchParams;
  token: string | null;
  wantsJson: boolean;
};

async function askedOf(request: IncomingMessage): Promise<Asked> {
  const { method = "", url: target = "", headers } = request;
  const { pathname, searchParams } = new URL(target, "http://fake");
  const fields = method === "POST" ? new URLSearchParams(await text(request)) : searchParams;
  return {
    method,
    target,
    path: pathname,
    fields,
    token: /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1] ?? null,
    wantsJson: (headers.accept ?? "").includes("application/json"),
  };
}

function refusalOf(
  token: string | null,
  { tokens, isExpired }: { tokens: Record<keyof typeof TOKENS, string>; isExpired: boolean },
): FaultAnswer | null {
  if (token === tokens.expired || (token === tokens.token && isExpired)) return EXPIRED_TOKEN;
  if (token === tokens.otherEnvironment) return OTHER_ENVIRONMENT;
  return token === tokens.token ? null : INVALID_TOKEN;
}

function answerTo({ method, path, fields, wantsJson }: Asked, answers: Answers, at: Date): FaultAnswer {
  const routed = route({ method, path, fields }, answers, at);
  if (routed instanceof Problem) return plain(routed.status, routed.words);
  return wantsJson
    ? { status: 200, type: JSON_TYPE, body: writeJson(routed) }
    : { status: 200, type: XML_TYPE, body: writeXml(routed) };
}

/** documentation.tradier.com, errors: a 400 may be plain text. Assumed: the words. */
function plain(status: number, problem: string): FaultAnswer {
  return { status, type: "text/plain", body: problem };
}
