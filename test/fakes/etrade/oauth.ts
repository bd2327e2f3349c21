/** The calls of a login (apisb.etrade.com, authorization), and the page on which a person says yes. */
import { percentEncode } from "../../../src/services/percentEncode.ts";
import type { FaultAnswer } from "../faultRules.ts";
import { escaped } from "../wire.ts";
import { oauthProblem, parameterAbsent } from "./faults.ts";
import type { Consumer, Sessions } from "./sessions.ts";
import type { Signed, TokenKind } from "./signed.ts";
import { type Form, HTML_TYPE } from "./wire.ts";

/** Where a person says yes; in truth at another host than the calls. */
export const AUTHORIZE_PATH = "/e/t/etws/authorize";

/** Which token signs each call of OAuth. */
export const OAUTH_CALLS: ReadonlyMap<string, TokenKind> = new Map([
  ["/oauth/request_token", "none"],
  ["/oauth/access_token", "request"],
  ["/oauth/renew_access_token", "access"],
  ["/oauth/revoke_access_token", "access"],
]);

/** The names of the address's parameters are E*TRADE's own. */
export function authorizeUrl(baseUrl: string, consumerKey: string, requestToken: string): string {
  return `${baseUrl}${AUTHORIZE_PATH}?key=${percentEncode(consumerKey)}&token=${percentEncode(requestToken)}`;
}

/** @param path of `OAUTH_CALLS` */
export function oauthAnswer(
  path: string,
  { consumerKey, token, parameter }: Signed,
  { sessions, form }: { sessions: Sessions; form: Form },
): FaultAnswer {
  const consumer = sessions.consumerOf(consumerKey);
  if (path === "/oauth/request_token")
    return requestToken(parameter("oauth_callback"), { consumer, sessions, form });
  if (path === "/oauth/access_token") {
    const verifier = parameter("oauth_verifier");
    if (verifier === null) return oauthProblem(parameterAbsent("oauth_verifier"), form);
    const got = sessions.exchange(token, verifier);
    return typeof got === "string"
      ? oauthProblem(got, form)
      : tokenForm({ oauth_token: got.accessToken, oauth_token_secret: got.accessTokenSecret });
  }
  const isRenewal = path === "/oauth/renew_access_token";
  const problem = isRenewal ? sessions.renew(token) : sessions.revoke(token);
  if (problem) return oauthProblem(problem, form);
  // Clients compare the words of the renewal. Assumed: those of the revocation.
  return text(isRenewal ? "Access Token has been renewed" : "Revoked Access Token");
}

function requestToken(
  callback: string | null,
  { consumer, sessions, form }: { consumer: Consumer | undefined; sessions: Sessions; form: Form },
): FaultAnswer {
  if (!consumer) return oauthProblem("consumer_key_rejected", form);
  if (callback === null) return oauthProblem(parameterAbsent("oauth_callback"), form);
  // Assumed: the words; that any other is refused is documented.
  if (callback !== "oob")
    return oauthProblem("parameter_rejected,oauth_parameters_rejected=oauth_callback", form);
  const got = sessions.requestToken(consumer);
  return tokenForm({
    oauth_token: got.accessToken,
    oauth_token_secret: got.accessTokenSecret,
    oauth_callback_confirmed: "true",
  });
}

function tokenForm(values: Record<string, string>): FaultAnswer {
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${percentEncode(value)}`);
  return { status: 200, type: "application/x-www-form-urlencoded", body: pairs.join("&") };
}

/**
 * The page of `AUTHORIZE_PATH`. Log-in and second factor are left out.
 *
 * @param asked the parameters of the address, or of the form that was sent
 */
export function authorizePage(method: string, asked: URLSearchParams, sessions: Sessions): FaultAnswer {
  const [key, token] = [asked.get("key") ?? "", asked.get("token") ?? ""];
  const credentials = sessions.credentialsOf("request", token);
  if (credentials === undefined || credentials.consumerKey !== key)
    return page(400, "<p>Nobody asked for this access.</p>");
  if (method !== "POST")
    return page(
      200,
      `<form method="post" action="${AUTHORIZE_PATH}">
<p>An application asks for access to your account: ${inAttribute(key)}</p>
<input type="hidden" name="key" value="${inAttribute(key)}">
<input type="hidden" name="token" value="${inAttribute(token)}">
<button type="submit" name="submit" value="accept">Accept</button>
</form>`,
    );
  const verifier = sessions.accept(key, token);
  if (verifier === null)
    return page(400, "<p>This request has expired. Begin again in your application.</p>");
  return page(
    200,
    `<p>Copy this code into your application:</p>\n<input type="text" id="oauth_verifier" value="${verifier}" readonly>`,
  );
}

/** Assumed: the type. */
function text(body: string): FaultAnswer {
  return { status: 200, type: HTML_TYPE, body };
}

function page(status: number, body: string): FaultAnswer {
  return {
    status,
    type: HTML_TYPE,
    body: `<!DOCTYPE html>\n<html><head><title>Authorize an application</title></head><body>\n${body}\n</body></html>\n`,
  };
}

function inAttribute(text: string): string {
  return escaped(text).replaceAll('"', "&quot;");
}
