/** The two toys' services over real HTTP, in one server, by the facts known of Public.com and Schwab. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Clock } from "../../../src/ground/clock.ts";

export const SECRET = "secret-of-the-person";
export const APP = { appKey: "key-of-the-app", appSecret: "secret-of-the-app" };
const BASIC = `Basic ${Buffer.from(`${APP.appKey}:${APP.appSecret}`).toString("base64")}`;
const MINUTE_MS = 60_000;

type Kind = "token" | "account" | "quotes";
type Asked = { kind: Kind; method: string; path: string; type: string | undefined; body: string };
type Said = { status: number; body: object };

const REFUSED: Said = { status: 401, body: { message: "Client not authorized" } };

function kindOf(path: string): Kind {
  if (path.endsWith("/access-tokens") || path.endsWith("/oauth/token")) return "token";
  return path.endsWith("/trading/account") ? "account" : "quotes";
}

/** A token of the one kind ends the one before it. */
export async function startTokenServer(clock: Pick<Clock, "now">) {
  const asked: Asked[] = [];
  /** All tokens that were ever given: nothing else may have them. */
  const given: string[] = [];
  /** `lastsSeconds`: what is said of a token that a form brings, whatever is true. */
  const state = {
    access: "",
    endsMs: 0,
    refresh: "",
    code: "code-of-the-page",
    lastsSeconds: 1800 as unknown,
  };
  const failing: Said[] & { kind?: Kind } = [];
  /** Awaited before an answer leaves, of a token behind all that it changes here. */
  const hooks = { onQuotes: () => Promise.resolve(), onToken: () => Promise.resolve() };

  const give = (name: string): string => {
    const token = `${name}-token-${given.length + 1}`;
    given.push(token);
    return token;
  };
  const newAccess = (lastsMs: number): string => {
    state.endsMs = clock.now().getTime() + lastsMs;
    return (state.access = give("access"));
  };
  const isBearer = ({ headers }: IncomingMessage): boolean =>
    headers.authorization === `Bearer ${state.access}` && clock.now().getTime() < state.endsMs;

  function bySecret(body: string): Said {
    const { secret, validityInMinutes } = JSON.parse(body) as { secret: string; validityInMinutes: number };
    if (secret !== SECRET) return REFUSED;
    return { status: 200, body: { accessToken: newAccess(validityInMinutes * MINUTE_MS) } };
  }

  function byForm(body: string, { headers }: IncomingMessage): Said {
    const fields = new URLSearchParams(body);
    const isRefresh = fields.get("grant_type") === "refresh_token";
    const isRight = isRefresh
      ? state.refresh !== "" && fields.get("refresh_token") === state.refresh
      : fields.get("code") === state.code;
    if (headers.authorization !== BASIC) return REFUSED;
    if (!isRight) return { status: 400, body: { error: "unsupported_token_type" } };
    state.refresh = give("refresh");
    const tokens = { access_token: newAccess(30 * MINUTE_MS), refresh_token: state.refresh };
    const lasts = { expires_in: state.lastsSeconds };
    return { status: 200, body: { ...lasts, token_type: "Bearer", scope: "api", ...tokens } };
  }

  async function answer(kind: Kind, body: string, request: IncomingMessage): Promise<Said> {
    if (failing.kind === kind && failing.length > 0) return failing.shift() ?? REFUSED;
    if (kind === "token") {
      const said = request.url?.endsWith("/access-tokens") ? bySecret(body) : byForm(body, request);
      await hooks.onToken();
      return said;
    }
    if (!isBearer(request)) return REFUSED;
    if (kind === "account") return { status: 200, body: { accountId: "5OP/1" } };
    await hooks.onQuotes();
    // It quotes what it was asked with, as services have been known to.
    return { status: 200, body: { quotes: [], asked: request.headers.authorization } };
  }

  const server = createServer((request, response) => {
    const { method = "", url: path = "", headers } = request;
    void text(request).then(async (body) => {
      const kind = kindOf(path);
      asked.push({ kind, method, path, type: headers["content-type"], body });
      const said = await answer(kind, body, request);
      response.writeHead(said.status, { "content-type": "application/json" }).end(JSON.stringify(said.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    given,
    state,
    hooks,
    kinds: () => asked.map(({ kind }) => kind).join(" "),
    count: (kind: Kind) => asked.filter((one) => one.kind === kind).length,
    /** Answers the next calls of a kind with these statuses. */
    fail: (kind: Kind, ...statuses: number[]) => {
      failing.splice(0, failing.length, ...statuses.map((status) => ({ status, body: { error: "no" } })));
      failing.kind = kind;
    },
    close: () => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()),
  };
}
