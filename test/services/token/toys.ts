/** Two services whose token a call brings, as small as they can be: one of the shape of Public.com, one of that of Schwab. */
import { failed, type RawAnswer } from "../../../src/quotes/answer.ts";
import { plainDocument } from "../../../src/quotes/document.ts";
import type { CallBody } from "../../../src/services/callBody.ts";
import { isObject, parseJson, textOf, valueAt } from "../../../src/services/json.ts";
import { percentEncode } from "../../../src/services/percentEncode.ts";
import type { Service } from "../../../src/services/service.ts";
import type { LoginAnswer, NotLoggedIn } from "../../../src/services/serviceLogin.ts";
import { ECHO } from "../echo/echo.ts";

const MINUTE_MS = 60_000;
const SEVEN_DAYS_MS = 7 * 24 * 60 * MINUTE_MS;

/** Nothing of an answer that may hold a token but its status. */
function refusal({ status }: LoginAnswer): NotLoggedIn {
  const fault = status >= 500 || status === 429 ? "service" : status >= 400 ? "access" : "answer";
  return { refused: `HTTP ${status} without a token`, fault };
}

/** A text of an answer's object; undefined: it is not there. */
function textIn({ status, body }: LoginAnswer, key: string): string | undefined {
  const json = status === 200 ? parseJson(body) : null;
  return (isObject(json) ? textOf(valueAt(json, key)) : null) ?? undefined;
}

const json = (value: unknown): CallBody => ({ type: "application/json", text: JSON.stringify(value) });
const form = (fields: Record<string, string>): CallBody => ({
  type: "application/x-www-form-urlencoded",
  text: new URLSearchParams(fields).toString(),
});

const shared = {
  ...ECHO,
  sign: (_, { accessToken = "" }) => ({ authorization: `Bearer ${accessToken}` }),
  classify: ({ status }: RawAnswer) => {
    if (status === 200) return { outcome: "quotes", document: plainDocument([]) };
    return failed(status === 401 ? "unauthorized" : "server_error", `HTTP ${status}`);
  },
} satisfies Service;

/** A secret brings a token for as long as was asked for; the answer does not say how long. The account's id stands in paths. */
export const SECRET_TOY: Service = {
  ...shared,
  name: "secret-toy",
  title: "Secret Toy",
  credentials: {
    all: [{ name: "secret", variable: "QUOTES_SECRET", title: "secret" }],
    identity: ["secret"],
    secrets: ["secret"],
  },
  write: {
    symbols: ({ symbols }) => ({
      method: "POST",
      target: "/userapigateway/marketdata/{accountId}/quotes",
      body: json({ instruments: symbols.map((symbol) => ({ symbol, type: "EQUITY" })) }),
      accept: "application/json",
    }),
  },
  secrets: ({ secret = "", accessToken = "" }) => [secret, accessToken],
  token: {
    steps: [
      {
        ask: (baseUrl, { secret }) => ({
          url: `${baseUrl}/userapiauthservice/personal/access-tokens`,
          headers: {},
          body: json({ secret, validityInMinutes: 15 }),
        }),
        read: (answer) => {
          const accessToken = textIn(answer, "accessToken");
          return accessToken ? { tokens: { accessToken }, lastsMs: 15 * MINUTE_MS } : refusal(answer);
        },
      },
      {
        ask: (baseUrl, { accessToken }) => ({
          url: `${baseUrl}/userapigateway/trading/account`,
          headers: { authorization: `Bearer ${accessToken}` },
        }),
        read: (answer) => {
          const accountId = textIn(answer, "accountId");
          return accountId ? { tokens: { accountId } } : refusal(answer);
        },
      },
    ],
    aheadMs: 5 * MINUTE_MS,
  },
};

type Secrets = Readonly<Record<string, string>>;

const TOKEN_PATH = "/v1/oauth/token";
const basic = ({ appKey, appSecret }: Secrets): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${appKey}:${appSecret}`).toString("base64")}`,
});

/** A person logs in each week. The refresh token of the login brings an access token, and with each another refresh token. */
export const REFRESH_TOY: Service = {
  ...shared,
  name: "refresh-toy",
  title: "Refresh Toy",
  credentials: {
    all: [
      { name: "appKey", variable: "QUOTES_APP_KEY", title: "app key" },
      { name: "appSecret", variable: "QUOTES_APP_SECRET", title: "app secret" },
    ],
    identity: ["appKey"],
    secrets: ["appSecret"],
  },
  write: {
    symbols: ({ symbols }) => {
      const target = `/marketdata/v1/quotes?symbols=${symbols.map(percentEncode).join(",")}`;
      return { method: "GET", target, accept: "application/json" };
    },
  },
  secrets: ({ appSecret = "", accessToken = "", refreshToken = "" }) => [
    appSecret,
    accessToken,
    refreshToken,
  ],
  login: {
    places: (baseUrl) => [{ calls: baseUrl, page: `${baseUrl}/v1/oauth/authorize` }],
    begin: ({ page }) => ({ url: page, headers: {} }),
    began: (_, { page }) => ({ url: page, pending: { token: "", secret: "" } }),
    finish: ({ calls }, credentials, { code }) => ({
      url: `${calls}${TOKEN_PATH}`,
      headers: basic(credentials),
      body: form({ grant_type: "authorization_code", code }),
    }),
    finished: (answer) => {
      const refreshToken = textIn(answer, "refresh_token");
      return refreshToken ? { tokens: { refreshToken } } : refusal(answer);
    },
    endsAt: (startedAt) => new Date(startedAt.getTime() + SEVEN_DAYS_MS),
  },
  token: {
    steps: [
      {
        ask: (baseUrl, { refreshToken = "", ...credentials }) => ({
          url: `${baseUrl}${TOKEN_PATH}`,
          headers: basic(credentials),
          body: form({ grant_type: "refresh_token", refresh_token: refreshToken }),
        }),
        read: (answer) => {
          const [accessToken, refreshToken, seconds] = ["access_token", "refresh_token", "expires_in"].map(
            (key) => textIn(answer, key),
          );
          if (!accessToken || !refreshToken) return refusal(answer);
          return { tokens: { accessToken, refreshToken }, lastsMs: Number(seconds) * 1_000 };
        },
      },
    ],
    aheadMs: 2 * MINUTE_MS,
  },
};
