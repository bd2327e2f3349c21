/**
 * Who may ask, and what a browser may do with the answer. Without a token only this machine's own names are answered;
 * with one, everything but health checks and the empty page wants it, as a cookie or as `Authorization: Bearer`.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../clock.ts";
import type { ApiError } from "../api/types.ts";
import { namesLoopback } from "./hosts.ts";
import { cookieHeader, cookiesIn, isSession, issueSession, sameText } from "./session.ts";

/** Null: no token is asked for. */
export type GuardOptions = { token: string | null; clock: Clock };

/** Sent with every answer. */
export const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Answered to anybody: they say nothing of the archive. */
const OPEN_PATHS = new Set(["/healthz", "/readyz", "/api/login", "/api/logout"]);

/** Paths that hold data. The page itself, its script and style are the same for everybody. */
const DATA_PATHS = /^\/(api\/|metrics)/;

/** Wrong tokens in a minute, from anybody, before logins are refused for the rest of it. */
const WRONG_TOKENS = 10;
const MINUTE_MS = 60_000;

/** Puts the guard before all routes, and adds the login. */
export function installGuard(app: FastifyInstance, { token, clock }: GuardOptions): void {
  const wrongAtMs: number[] = [];
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    const path = request.url.split("?")[0] ?? "";
    if (OPEN_PATHS.has(path) && !path.startsWith("/api/")) return;
    if (token === null) {
      if (!namesLoopback(request.headers.host)) await refuseHost(reply);
    } else if (DATA_PATHS.test(path) && !OPEN_PATHS.has(path) && !isAllowed(request, token, clock)) {
      await reply.code(401).header("www-authenticate", "Bearer").send(UNAUTHORIZED);
    }
  });
  app.post<{ Body: { token?: unknown } | null }>("/api/login", async (request, reply) => {
    const nowMs = clock.monotonicMs();
    while (wrongAtMs[0] !== undefined && wrongAtMs[0] <= nowMs - MINUTE_MS) wrongAtMs.shift();
    if (wrongAtMs.length >= WRONG_TOKENS) return reply.code(429).send(TOO_MANY);
    const given = request.body?.token;
    if (token === null || typeof given !== "string" || !sameText(given.trim(), token)) {
      wrongAtMs.push(nowMs);
      return reply.code(401).send(WRONG_TOKEN);
    }
    const cookie = cookieHeader(issueSession(token, clock.now()), { secure: isHttps(request) });
    return reply.header("set-cookie", cookie).send({ ok: true });
  });
  app.post("/api/logout", async (request, reply) =>
    reply.header("set-cookie", cookieHeader("", { secure: isHttps(request) })).send({ ok: true }),
  );
}

function isAllowed({ headers }: FastifyRequest, token: string, clock: Clock): boolean {
  const bearer = /^Bearer +(.+)$/i.exec(headers.authorization ?? "")?.[1];
  if (bearer !== undefined) return sameText(bearer.trim(), token);
  return cookiesIn(headers.cookie).some((value) => isSession(value, token, clock.now()));
}

/** Whether the browser came over https, to us or to a proxy before us. */
function isHttps({ protocol, headers }: FastifyRequest): boolean {
  return protocol === "https" || /(^|[\s,;=])https\b/i.test(String(headers["x-forwarded-proto"] ?? ""));
}

async function refuseHost(reply: FastifyReply): Promise<void> {
  await reply.code(421).send({
    error: {
      code: "HOST_REFUSED",
      detail: "the dashboard answers to the names of this machine alone, such as localhost",
      hint: "Open it as http://localhost, or set QUOTEKEEPER_WEB_TOKEN to reach it by another name.",
      person: true,
    },
  } satisfies ApiError);
}

const loginError = (code: string, detail: string, hint: string): ApiError => ({
  error: { code, detail, hint, person: true },
});

const UNAUTHORIZED = loginError(
  "TOKEN_WANTED",
  "this dashboard asks for a token",
  "Give the token of QUOTEKEEPER_WEB_TOKEN.",
);
const WRONG_TOKEN = loginError(
  "TOKEN_WRONG",
  "that is not the token",
  "It is the value of QUOTEKEEPER_WEB_TOKEN, or the content of the file QUOTEKEEPER_WEB_TOKEN_FILE names.",
);
const TOO_MANY = loginError("TOKEN_TRIED", "too many wrong tokens", "Wait a minute, then try again.");
