/**
 * E*TRADE's login (apisb.etrade.com/docs/api/authorization; RFC 5849 section 2): a request token, a page on which a person says yes,
 * a code of five characters, and an access token that ends at midnight in New York.
 */
import { addDays, exchangeDate, exchangeInstant } from "../../market/calendar/dates.ts";
import { cutText } from "../../outsideText.ts";
import {
  type Credentials as OAuthCredentials,
  type LoginParameters,
  signRequest,
} from "../oauth/signature.ts";
import type { Login, LoginCall, LoginPlace, NotLoggedIn, Pending } from "../serviceLogin.ts";
import type { Stamp } from "../stamp.ts";
import type { RawAnswer } from "../../quotes/answer.ts";
import type { Credentials } from "../service.ts";

/**
 * Assumed: the sandbox's keys log in where those of production do. Two clients differ, and the documentation leaves it blank: an
 * operator can say another address (QUOTES_LOGIN_URL).
 */
const OWN: LoginPlace = { calls: "https://api.etrade.com", page: "https://us.etrade.com/e/t/etws/authorize" };

const OWN_ADDRESSES = ["https://api.etrade.com", "https://apisb.etrade.com"];

export const LOGIN: Login = {
  place: (baseUrl, loginUrl) => {
    const own = OWN_ADDRESSES.includes(baseUrl)
      ? OWN
      : { calls: baseUrl, page: `${baseUrl}/e/t/etws/authorize` };
    return loginUrl === undefined ? own : { ...own, calls: loginUrl };
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
  renew: ({ calls }, credentials, stamp) =>
    signed(`${calls}/oauth/renew_access_token`, credentials, { stamp }),
  // Assumed: a renewal that is refused says so by its status or by an oauth_problem; its words are not documented.
  renewed: (answer) => (answer.status === 200 && !PROBLEM.test(textOf(answer)) ? null : refusal(answer)),
  endsAt: (startedAt) => exchangeInstant(addDays(exchangeDate(startedAt), 1), "00:00"),
  idleMs: 2 * 60 * 60_000,
};

const NO_TOKEN: Pending = { token: "", secret: "" };

function withToken(credentials: Credentials, { token, secret }: Pending): Credentials {
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

/** Longest answer of a login that is read, in bytes. */
const LONGEST = 16_384;

function textOf({ body }: LoginAnswer): string {
  return Buffer.from(body.subarray(0, LONGEST)).toString("utf8");
}

/** A form-encoded token with its secret, which may hold `+ / =` in their encoded form. */
function tokenIn(answer: LoginAnswer): Pending | NotLoggedIn {
  if (answer.status !== 200) return refusal(answer);
  const form = new URLSearchParams(textOf(answer).trim());
  const [token, secret] = [form.get("oauth_token") ?? "", form.get("oauth_token_secret") ?? ""];
  return token === "" || secret === "" ? refusal(answer) : { token, secret };
}

/** Nothing of the body but the name of a problem: it may hold a token. */
function refusal(answer: LoginAnswer): NotLoggedIn {
  const problem = PROBLEM.exec(textOf(answer))?.[1];
  return {
    refused: `HTTP ${answer.status}${problem === undefined ? " without a token" : `, oauth_problem=${cutText(problem, 64)}`}`,
  };
}
