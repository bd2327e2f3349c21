/** A person's login at a service: its two steps, between which the person opens a page. */
import type { Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import type { Pending } from "../services/serviceLogin.ts";
import { callLogin } from "./loginCalls.ts";
import { stampOf } from "../services/stamp.ts";
import { keepSession, type LoginAccount } from "./accountSession.ts";

/** Begins a login. `url`: what a person opens. @throws QuotekeeperError LOGIN_FAILED, and the errors of a call */
export async function beginLogin(
  { login, account, baseUrl, credentials }: LoginAccount,
  clock: Clock,
  signal?: AbortSignal,
): Promise<{ url: string; pending: Pending }> {
  const place = login.place(baseUrl, account.loginUrl);
  const answer = await callLogin(login.begin(place, credentials, stampOf(clock)), signal);
  const begun = login.began(answer, place, credentials);
  if ("refused" in begun) throw loginFailed(account, begun.refused);
  return begun;
}

/** Ends a login with the code of its page, and keeps the session. @returns when that ends @throws as `beginLogin` */
export async function finishLogin(
  of: LoginAccount,
  given: { pending: Pending; code: string },
  { dataDir, clock, signal }: { dataDir: string; clock: Clock; signal?: AbortSignal },
): Promise<Date> {
  const { login, account, baseUrl, credentials } = of;
  if (given.code === "") throw loginFailed(account, "no code was given");
  const place = login.place(baseUrl, account.loginUrl);
  const answer = await callLogin(
    login.finish(place, credentials, { ...given, stamp: stampOf(clock) }),
    signal,
  );
  const finished = login.finished(answer);
  if ("refused" in finished) throw loginFailed(account, finished.refused);
  return keepSession(of, finished.tokens, { dataDir, clock });
}

function loginFailed({ name, service }: LoginAccount["account"], why: string): QuotekeeperError {
  return new QuotekeeperError("LOGIN_FAILED", `${service.title} has not let the account ${name} in: ${why}`);
}
