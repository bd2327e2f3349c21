/** The token of the dashboard: compared in constant time, and the signed cookie that stands for it. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** Name of the cookie. */
export const COOKIE = "quotekeeper_session";

/** How long a login lasts, ms. */
export const SESSION_MS = 30 * 86_400_000;

/** Whether two texts are the same, in a time that tells nothing of where they differ. */
export function sameText(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** A cookie's value that ends by itself. Who knows it does not know the token. */
export function issueSession(token: string, now: Date): string {
  const expires = String(now.getTime() + SESSION_MS);
  return `${expires}.${signatureOf(token, expires)}`;
}

/** Whether a cookie's value was issued under this token and has not ended. */
export function isSession(value: string, token: string, now: Date): boolean {
  const [expires = "", signature = ""] = value.split(".");
  return (
    /^\d{1,15}$/.test(expires) &&
    sameText(signature, signatureOf(token, expires)) &&
    Number(expires) > now.getTime()
  );
}

/** The `Set-Cookie` header of a login; an empty value ends it. */
export function cookieHeader(value: string, { secure }: { secure: boolean }): string {
  const maxAge = value === "" ? 0 : SESSION_MS / 1_000;
  const flags = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${secure ? "; Secure" : ""}`;
  return `${COOKIE}=${value}; ${flags}`;
}

/** The values of our cookie in a `Cookie` header. */
export function cookiesIn(header: string | undefined): string[] {
  return (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${COOKIE}=`))
    .map((pair) => pair.slice(COOKIE.length + 1));
}

function signatureOf(token: string, expires: string): string {
  return createHmac("sha256", token).update(`quotekeeper dashboard until ${expires}`).digest("base64url");
}
