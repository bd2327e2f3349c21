/**
 * E*TRADE's login (apisb.etrade.com/docs/api/authorization; RFC 5849 section 2): a request token, a page on which a person says yes,
 * a code of five characters, and an access token that ends at midnight in New York.
 */
import { addDays, exchangeDate, exchangeInstant } from "../../market/calendar/dates.ts";
import { cutText } from "../../ground/outsideText.ts";
import {
  type Credentials as OAuthCredentials,
  type LoginParameters,
  signRequest,
} from "../oauth/signature.ts";
import type { Login, LoginCall, NotLoggedIn, PendingLogin } from "../serviceLogin.ts";
import type { Stamp } from "../stamp.ts";
import { acceptedTimestamps } from "./classifyEtrade.ts";
import type { RawAnswer } from "../../quotes/answer.ts";
import type { Credentials } from "../service.ts";

const AUTHORIZE = "/e/t/etws/authorize";

const PRODUCTION = "https://api.etrade.com";

/**
 * Assumed: a key of the sandbox logs in at the sandbox's own address, and where that refuses it at that of production. Ten clients
 * say the first, three the second, and the documentation leaves it blank. QUOTES_LOGIN_URL names another address.
 */
const CALLED: ReadonlyMap<string, readonly string[]> = new Map([
  [PRODUCTION, [PRODUCTION]],
  ["https://apisb.etrade.com", ["https://apisb.etrade.com", PRODUCTION]],
]);

export const LOGIN: Login = {
  places: (baseUrl, loginUrl) => {
    const own = CALLED.get(baseUrl);
    const page = `${own ? "https://us.etrade.com" : baseUrl}${AUTHORIZE}`;
    const called = loginUrl === undefined ? (own ?? [baseUrl]) : [loginUrl];
    return called.map((calls) => ({ calls, page }));
  },
  // Any other callback is refused.
  begin: ({ calls }, credentials, stamp) =>
    signed(`${calls}/oauth/request_token`, withToken(credentials, NO_TOKEN), {
      stamp,
      login: { oauth_callback: "oob" },
    }),
  began: (answer, { page }, { consumerKey = "" }) => {
    const pending = tokenIn(answer);
    if ("refused" in pending) return pending;
    const query = new URLSearchParams({ key: consumerKey, token: pending.token });
    return { url: `${page}?${query.toString()}`, pending };
  },
  finish: ({ calls }, credentials, { pending, code, stamp }) =>
    signed(`${calls}/oauth/access_token`, withToken(credentials, pending), {
      stamp,
      login: { oauth_verifier: code },
    }),
  finished: (answer) => {
    const token = tokenIn(answer);
    return "refused" in token
      ? token
      : { tokens: { accessToken: token.token, accessTokenSecret: token.secret } };
  },
  endsAt: (startedAt) => exchangeInstant(addDays(exchangeDate(startedAt), 1), "00:00"),
  waking: {
    renew: ({ calls }, credentials, stamp) =>
      signed(`${calls}/oauth/renew_access_token`, credentials, { stamp }),
    // Assumed: a renewal that is refused says so by its status or by an oauth_problem; its words are not documented.
    renewed: (answer) => (answer.status === 200 && !PROBLEM.test(textOf(answer)) ? null : refusal(answer)),
    idleMs: 2 * 60 * 60_000,
  },
};

const NO_TOKEN: PendingLogin = { token: "", secret: "" };

function withToken(credentials: Credentials, { token, secret }: PendingLogin): Credentials {
  return { ...credentials, accessToken: token, accessTokenSecret: secret };
}

function signed(
  url: string,
  credentials: Credentials,
  { stamp, login }: { stamp: Stamp; login?: LoginParameters },
): LoginCall {
  const signing = { method: "GET", url, credentials: credentials as OAuthCredentials, ...stamp };
  return { url, headers: { authorization: signRequest(login ? { ...signing, login } : signing) } };
}

const PROBLEM = /oauth_problem=(\w{1,64})/;

type LoginAnswer = Pick<RawAnswer, "status" | "body">;

/** Faults by the name of the problem (oauth.net, problem reporting extension); the status tells others. */
const FAULTS: ReadonlyMap<string, NotLoggedIn["fault"]> = new Map([
  ["verifier_invalid", "code"],
  ["timestamp_refused", "clock"],
]);

/** Longest answer of a login that is read, in bytes. */
const LONGEST = 16_384;

function textOf({ body }: LoginAnswer): string {
  return Buffer.from(body.subarray(0, LONGEST)).toString("utf8");
}

/** A form-encoded token with its secret, which may hold `+ / =` in their encoded form. */
function tokenIn(answer: LoginAnswer): PendingLogin | NotLoggedIn {
  if (answer.status !== 200) return refusal(answer);
  const form = new URLSearchParams(textOf(answer).trim());
  const [token, secret] = [form.get("oauth_token") ?? "", form.get("oauth_token_secret") ?? ""];
  return token === "" || secret === "" ? refusal(answer) : { token, secret };
}

/** Nothing of the body but the name of a problem and the times that would be accepted: it may hold a token. */
function refusal(answer: LoginAnswer): NotLoggedIn {
  const { status } = answer;
  const text = textOf(answer);
  const problem = PROBLEM.exec(text)?.[1];
  const words = problem === undefined ? " without a token" : `, oauth_problem=${cutText(problem, 64)}`;
  const range = acceptedTimestamps(text);
  const byStatus = status >= 500 ? "service" : status === 401 || status === 404 ? "access" : "answer";
  return {
    refused: `HTTP ${status}${words}${range === null ? "" : `, ${range}`}`,
    fault: FAULTS.get(problem ?? "") ?? byStatus,
  };
}
