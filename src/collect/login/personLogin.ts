/** A person's login at a service: its two steps, between which the person opens a page. */
import type { Clock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { LoginPlace, NotLoggedIn, PendingLogin } from "../../services/serviceLogin.ts";
import { keepSession, type LoginAccount } from "./keptSession.ts";
import { callInTime, isRefused } from "./loginCalls.ts";

/** A login whose page a person has to open. A secret. */
type BegunLogin = { place: LoginPlace; pending: PendingLogin };

/**
 * Begins a login at the first place that lets it begin. `url`: what a person opens.
 *
 * @throws QuotekeeperError LOGIN_FAILED, SERVICE_ERROR, and the errors of a call
 */
export async function beginLogin(
  { login, account, baseUrl, credentials }: LoginAccount,
  clock: Clock,
  signal?: AbortSignal,
): Promise<{ url: string; begun: BegunLogin }> {
  const refused: string[] = [];
  const places = login.places(baseUrl, account.loginUrl);
  for (const place of places) {
    const said = await callInTime(
      (stamp) => login.begin(place, credentials, stamp),
      (answer) => login.began(answer, place, credentials),
      { clock, signal },
    );
    if (!isRefused(said)) return { url: said.url, begun: { place, pending: said.pending } };
    if (said.fault !== "access") throw loginFailed(account, said);
    refused.push(places.length > 1 ? `${said.refused} from ${place.calls}` : said.refused);
  }
  const elsewhere =
    account.loginUrl === undefined ? "; QUOTES_LOGIN_URL names another address to log in at" : "";
  throw loginFailed(account, { fault: "access", refused: refused.join(", ") + elsewhere });
}

/** Ends a login with the code of its page, and keeps the session. @returns when it ends @throws as `beginLogin`, and LOGIN_CODE_WRONG */
export async function finishLogin(
  of: LoginAccount,
  { begun, code }: { begun: BegunLogin; code: string },
  { dataDir, clock, signal }: { dataDir: string; clock: Clock; signal?: AbortSignal },
): Promise<Date> {
  const { login, account, credentials } = of;
  if (code === "") throw loginFailed(account, { fault: "code", refused: "no code was given" });
  const { place, pending } = begun;
  const finished = await callInTime(
    (stamp) => login.finish(place, credentials, { pending, code, stamp }),
    login.finished,
    { clock, signal },
  );
  if (isRefused(finished)) throw loginFailed(account, finished);
  return keepSession(of, finished.tokens, { dataDir, clock });
}

function loginFailed(
  { name, service }: LoginAccount["account"],
  { refused, fault }: NotLoggedIn,
): QuotekeeperError {
  const code = fault === "code" ? "LOGIN_CODE_WRONG" : fault === "service" ? "SERVICE_ERROR" : "LOGIN_FAILED";
  return new QuotekeeperError(code, `${service.title} has not let the account ${name} in: ${refused}`);
}
