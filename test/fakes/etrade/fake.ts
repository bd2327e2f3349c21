/**
 * A fake of E*TRADE's market interface v1 over HTTP: the login of OAuth 1.0a with its page for a person, quotes, option chains
 * and expirations of the simulated market. It holds to what is public of the service, and says where that is a guess
 * ("Assumed:").
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { Clock } from "../../../src/ground/clock.ts";
import { createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { NonceMemory } from "../../../src/services/oauth/nonces.ts";
import { type FaultAnswer, faultOf, type FaultRule, SLOW_MS } from "../faultRules.ts";
import { listen, type Reply, send } from "../http.ts";
import { MANY_ROOTS, MOST_STRIKES } from "../listing.ts";
import { type Answers, type AnswersOptions, createAnswers } from "./answers.ts";
import { faultAnswer, type FaultName, oauthProblem, OVER_LIMIT, TIMESTAMP_WINDOW_SECONDS } from "./faults.ts";
import { createLimit, type LimitOptions, LIMITS } from "./limit.ts";
import { AUTHORIZE_PATH, authorizePage, authorizeUrl, OAUTH_CALLS, oauthAnswer } from "./oauth.ts";
import { acceptAsPerson } from "./person.ts";
import { dateOf, route, symbolsOf } from "./routes.ts";
import { sandboxOf } from "./sandbox.ts";
import { type Consumer, createSessions, type Login } from "./sessions.ts";
import { verified } from "./signed.ts";
import { answerOf, type Form, Problem, problemAnswer, refusal, tomcatPage } from "./wire.ts";

/** The consumer key that the fake knows, where no option says others. */
export const CONSUMER: Consumer = { key: "fake-etrade-key", secret: "fake-etrade-secret" };

export type FakeEtradeOptions = Partial<Omit<AnswersOptions, "market">> & {
  /** Tells the time of quotes, signatures, tokens, headers and limits, and lets the time of slow bodies pass. */
  clock: Clock;
  /** `createSimulatedMarket({ seed })` */
  market: AnswersOptions["market"];
  /** Each is the account of another person. Default: `CONSUMER` alone. */
  consumers?: readonly Consumer[];
  /** Market calls get stored answers. */
  sandbox?: boolean;
  /** Default: `LIMITS`. */
  limit?: Partial<LimitOptions>;
  /** The form of each answer, whatever a call asks for. Default: what it asks for. */
  form?: Form;
  /** How a call over the limit is told. Default: JSON to a client of JSON, a page to any other. */
  overLimit?: "html" | "json";
  /** Faults on purpose, of calls of the market and of OAuth that are signed rightly. */
  faults?: readonly FaultRule<FaultName>[];
  /** Default: 0, any free port of loopback. */
  port?: number;
};

/** A signed call as the fake saw it, without its token; a person's pages are none. */
export type FakeCall = {
  /** From 1. */
  number: number;
  at: Date;
  method: string;
  /** Without `.json`. */
  path: string;
  /** Of a quote's path, or the one of a chain or of expirations. */
  symbols: readonly string[];
  /** Of a chain, `YYYY-MM-DD`; else null. */
  expiration: string | null;
  /** Null where the signature is not right. */
  consumerKey: string | null;
  /** Null until it is answered, and for good where the connection was closed instead. */
  status: number | null;
  fault: FaultName | null;
};

export type FakeEtrade = {
  /** Without `/v1` and `/oauth`. A person's page lies here as well. */
  baseUrl: string;
  /** All calls so far, in order. */
  calls: readonly FakeCall[];
  /** The logins that were completed, in order. */
  logins: readonly Login[];
  /** The next calls meet this fault. @param times default: 1 */
  failNext: (fault: FaultName, times?: number) => void;
  /** The address that a person opens. @param consumerKey default: the one that asked for the token */
  authorizeUrl: (requestToken: string, consumerKey?: string) => string;
  /** Acts as the person. @param asked the address, or a request token. @returns the verifier */
  authorize: (asked: string) => Promise<string>;
  /** All logins end now, as at midnight. */
  endSession: () => void;
  close: () => Promise<void>;
};

/** Starts the fake on loopback. @throws Error of Node when the port is taken */
export async function startFakeEtrade(options: FakeEtradeOptions): Promise<FakeEtrade> {
  const { clock, port = 0 } = options;
  const answers = answersOf(options);
  const take = createLimit({ ...LIMITS, ...options.limit });
  const sessions = createSessions(options.consumers ?? [CONSUMER], clock);
  const nonces = new NonceMemory({ windowSeconds: TIMESTAMP_WINDOW_SECONDS, maxNonces: 1_000_000 });
  const calls: FakeCall[] = [];
  const next: FaultName[] = [];
  const closing = new AbortController();

  /**
   * The service's order of checks. Assumed: all of it. A call over the limit keeps its token awake; what is refused for its
   * token or its signature does not count.
   */
  function replyTo(call: FakeCall, asked: Asked): Reply {
    const { form } = asked;
    const nowSeconds = Math.floor(call.at.getTime() / 1_000);
    const kind = OAUTH_CALLS.get(call.path);
    const signed = verified(asked, { kind: kind ?? "access", sessions, nonces, nowSeconds });
    if (typeof signed === "string") return oauthProblem(signed, form);
    call.consumerKey = signed.consumerKey;
    if (kind === undefined) {
      const problem = sessions.use(signed.token);
      if (problem) return oauthProblem(problem, form);
      if (!take(signed.consumerKey, call.at.getTime())) return overLimit(form, options.overLimit);
    }
    call.fault = next.shift() ?? faultOf(options.faults ?? [], call);
    const fault = faultAnswer(call.fault, { form, nowSeconds });
    if (fault) return fault;
    if (kind !== undefined) return oauthAnswer(call.path, signed, { sessions, form });
    const routed = route(asked, answers, call.at);
    return routed instanceof Problem ? problemAnswer(routed, form) : answerOf(routed, form);
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = { ...askedOf(request), ...(options.form && { form: options.form }) };
    const at = clock.now();
    const sleep = () => clock.sleep(SLOW_MS, closing.signal);
    if (asked.path === AUTHORIZE_PATH) {
      const fields = asked.method === "POST" ? new URLSearchParams(await text(request)) : asked.query;
      const page = authorizePage(asked.method, fields, sessions);
      return send(page, { response, call: { at, fault: null }, sleep });
    }
    const call: FakeCall = {
      number: calls.length + 1,
      at,
      method: asked.method,
      path: asked.path,
      symbols: symbolsOf(asked),
      expiration: dateOf(asked),
      consumerKey: null,
      status: null,
      fault: null,
    };
    calls.push(call);
    const reply = replyTo(call, asked);
    if (call.fault === "closedConnection") return void request.socket.destroy();
    call.status = reply.status;
    await send(reply, { response, call, sleep });
  }

  const { baseUrl, close } = await listen(serve, port);
  const addressOf = (requestToken: string, consumerKey?: string) => {
    const asking = sessions.credentialsOf("request", requestToken)?.consumerKey ?? CONSUMER.key;
    return authorizeUrl(baseUrl, consumerKey ?? asking, requestToken);
  };
  return {
    baseUrl,
    calls,
    logins: sessions.logins,
    failNext: (fault, times = 1) => void next.push(...Array<FaultName>(times).fill(fault)),
    authorizeUrl: addressOf,
    authorize: (asked) => acceptAsPerson(/^https?:/.test(asked) ? asked : addressOf(asked)),
    endSession: sessions.end,
    close: () => {
      closing.abort();
      return close();
    },
  };
}

function answersOf(options: FakeEtradeOptions): Answers {
  const { sandbox = false } = options;
  const answers = createAnswers({
    market: options.market,
    // The sandbox's answers were stored in a session of the exchange.
    calendar: (sandbox ? undefined : options.calendar) ?? createCalendar(),
    trading: options.trading ?? (() => null),
    manyRoots: options.manyRoots ?? MANY_ROOTS,
    mostStrikes: options.mostStrikes ?? MOST_STRIKES,
    delayed: options.delayed ?? sandbox,
    unknownSymbols: options.unknownSymbols ?? "messages",
  });
  return sandbox ? sandboxOf(answers) : answers;
}

type Asked = {
  method: string;
  scheme: "http";
  host: string;
  /** Path and query as they were sent, which is what is signed. */
  target: string;
  authorization: readonly string[];
  /** Without `.json`. */
  path: string;
  query: URLSearchParams;
  form: Form;
};

function askedOf({ method = "", url: target = "", headers }: IncomingMessage): Asked {
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  const isJson = path.endsWith(".json") || (headers.accept ?? "").includes("application/json");
  return {
    method,
    scheme: "http",
    host: headers.host ?? "",
    target,
    authorization: headers.authorization === undefined ? [] : [headers.authorization],
    path: path.replace(/\.json$/, ""),
    query: new URLSearchParams(query),
    form: isJson ? "json" : "xml",
  };
}

function overLimit(form: Form, as: FakeEtradeOptions["overLimit"]): FaultAnswer {
  if (as === "html") return tomcatPage(400, OVER_LIMIT);
  return refusal(400, OVER_LIMIT, as ?? form);
}
