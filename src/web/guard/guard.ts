/**
 * Who may ask, and what a browser may do with the answer. It is decided by the route that was matched, never by how its
 * address was spelled: a route is for whoever has the token, unless it says that it is open. Every route, and an address
 * of none, wants a name of ours as `Host`.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import cookie from "@fastify/cookie";
import helmet, { type FastifyHelmetOptions } from "@fastify/helmet";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../ground/clock.ts";
import type { Log } from "../../ground/log.ts";
import { absoluteTarget, givenTwice } from "../../ground/httpHead.ts";
import { readTextFileSync } from "../../ground/plainFiles.ts";
import { refusal } from "../live.ts";
import { isForeign, isOurName } from "./hosts.ts";
import { type TryResult, Tries } from "./tries.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answered without the token: it tells nothing of the archive. */
    open?: boolean;
  }
  interface FastifyRequest {
    /** Tells one browser's login from another's, and is no secret; empty: the token itself, or none, was given. */
    visitor: string;
  }
}

type GuardOptions = {
  /** Null: no token is asked for. */
  token: string | null;
  /** Names of the dashboard besides this machine's own, in small letters. */
  names: readonly string[];
  /** Directory in which the key of logins is kept; null: they end with this process. */
  loginsDir: string | null;
  clock: Clock;
  log: Pick<Log, "warn">;
};

const COOKIE = "quotekeeper_login";

/** How long a login lasts, ms. */
const LOGIN_MS = 30 * 86_400_000;

/** Sent with every answer. */
const HEADERS: FastifyHelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      fontSrc: ["'self'"],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  },
  xFrameOptions: { action: "deny" },
  // Whether a name is to be asked over https alone is for the proxy to say that speaks it.
  strictTransportSecurity: false,
};

/** A token is no longer than this, bytes of JSON. */
const LOGIN_BYTES = 4_096;

/** Puts the guard before all routes that come after, and adds the login. */
export async function installGuard(app: FastifyInstance, options: GuardOptions): Promise<void> {
  const { token, names, clock } = options;
  const judge = token === null ? null : createJudge(token, clock);
  // Past Node's bound of 2,000 a second header would go unseen. Their bytes are bounded.
  app.server.maxHeadersCount = 0;
  app.decorateRequest("visitor", "");
  await app.register(helmet, HEADERS);
  await app.register(cookie, token === null ? {} : { secret: loginKey(token, options) });

  app.addHook("onRequest", async (request, reply) => {
    const twice = givenTwice(request.raw.rawHeaders);
    if (twice !== null)
      return reply.code(400).send(refusal("HEADER_TWICE", `the ${twice} header is given twice`));
    const { origin } = request.headers;
    // The host of a target in absolute form counts in place of the header (RFC 9112, section 3.2.2).
    const host = absoluteTarget(request.raw.url ?? "")?.authority ?? request.headers.host;
    // A name that was made to resolve to this machine is no address; but without a token only this machine is meant.
    const ours = isOurName(host, { names, addresses: token !== null });
    if (!ours) return reply.code(421).send(HOST_REFUSED);
    if (isForeign(origin, host, names) || isForOthersPage(request))
      return reply.code(403).send(ORIGIN_REFUSED);
    if (judge === null || request.routeOptions.config.open) return;
    const verdict = await judge.request(request, reply);
    if (verdict === "full") return tooMany(reply);
    if (verdict !== "right") return reply.code(401).header("www-authenticate", "Bearer").send(UNAUTHORIZED);
  });

  const login = { bodyLimit: LOGIN_BYTES, config: { open: true } };
  app.post<{ Body: { token?: unknown } | null }>("/api/login", login, async (request, reply) => {
    const given = request.body?.token;
    if (judge === null || typeof given !== "string") return reply.code(401).send(WRONG_TOKEN);
    const verdict = await judge.token(given.trim(), request, reply);
    if (verdict === "full") return tooMany(reply);
    if (verdict === "wrong") return reply.code(401).send(WRONG_TOKEN);
    const value = `${clock.now().getTime() + LOGIN_MS}-${Buffer.from(clock.random(VISITOR_BYTES)).toString("hex")}`;
    return reply.setCookie(COOKIE, value, { ...cookieFlags(request), signed: true }).send({ ok: true });
  });
  app.post("/api/logout", async (request, reply) =>
    reply.setCookie(COOKIE, "", { ...cookieFlags(request), maxAge: 0 }).send({ ok: true }),
  );
}

/** Chance by which browsers are told apart. */
const VISITOR_BYTES = 16;

const KEY_FILE = "key";

const CHANCE_BYTES = 32;

/**
 * What signs the cookies of logins: 64 hexadecimal digits, the same in every process with this directory and this token. It is made of
 * the token, so that another token ends every login, and of chance that only this machine has, so that a cookie does not tell whether a
 * guess at the token is right. Remove the file to end all logins.
 */
function loginKey(token: string, { loginsDir: dir, clock, log }: GuardOptions): string {
  const makeChance = (): string => Buffer.from(clock.random(CHANCE_BYTES)).toString("hex");
  const chance = (dir !== null && (keptChance(dir) ?? keepChance(dir, makeChance(), log))) || makeChance();
  return createHmac("sha256", chance).update(token).digest("hex");
}

function keptChance(dir: string): string | null {
  try {
    const { text } = readTextFileSync(join(dir, KEY_FILE), { links: false, most: 1_000 });
    return /^[0-9a-f]{64}$/.test(text) ? text : null;
  } catch {
    return null;
  }
}

/** @returns what is kept: another process may have been first; null: nothing can be kept there */
function keepChance(dir: string, chance: string, log: Pick<Log, "warn">): string | null {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, KEY_FILE), chance, { mode: 0o600, flag: "wx" });
    return chance;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const kept = code === "EEXIST" ? keptChance(dir) : null;
    if (kept === null) log.warn({ reason: message }, "logins cannot be kept beyond this process");
    return kept;
  }
}

/** Whether two texts are the same, in a time that tells nothing of where they differ. */
function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** Tells right tokens from wrong ones, whichever way they come, no faster than their source may try. */
function createJudge(token: string, clock: Clock) {
  const tries = new Tries(clock);
  const take = ({ ip }: FastifyRequest, reply: FastifyReply, isRight: () => boolean): Promise<TryResult> => {
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    return tries.take(ip, isRight, gone.signal);
  };
  return {
    token: (given: string, request: FastifyRequest, reply: FastifyReply) =>
      take(request, reply, () => isSameSecret(given, token)),
    /** By its bearer's token, else by its cookie. */
    request: async (request: FastifyRequest, reply: FastifyReply): Promise<TryResult | "none"> => {
      const bearer = /^Bearer +(.+)$/i.exec(request.headers.authorization ?? "")?.[1]?.trim();
      if (bearer !== undefined) return take(request, reply, () => isSameSecret(bearer, token));
      const given = request.cookies[COOKIE];
      if (given === undefined) return "none";
      const { valid, value } = request.unsignCookie(given);
      const [end, visitor = ""] = (value ?? "").split("-");
      // Whoever is logged in is not held up by who tries tokens from the same address, as behind a proxy.
      if (!valid || !(Number(end) > clock.now().getTime())) return take(request, reply, () => false);
      request.visitor = visitor;
      return "right";
    },
  };
}

/**
 * Whether a browser says that a page of another site asks for data: an image or a script sends no `Origin`, and its page cannot read the
 * answer, but the answer has its price (W3C, Fetch Metadata Request Headers). Other programs send no such header; `none` is a person's own
 * address line.
 */
function isForOthersPage({ headers, routeOptions }: FastifyRequest): boolean {
  const site = headers["sec-fetch-site"];
  const { url = "" } = routeOptions;
  return (site === "cross-site" || site === "same-site") && (url.startsWith("/api/") || url === "/metrics");
}

function cookieFlags({ protocol, headers }: FastifyRequest) {
  // The browser came over https, to us or to a proxy before us.
  const secure =
    protocol === "https" || /(^|[\s,;=])https\b/i.test(String(headers["x-forwarded-proto"] ?? ""));
  return { path: "/", httpOnly: true, sameSite: "strict", maxAge: LOGIN_MS / 1_000, secure } as const;
}

function tooMany(reply: FastifyReply): FastifyReply {
  return reply.code(429).header("retry-after", "10").send(TOO_MANY);
}

const HOST_REFUSED = refusal("HOST_REFUSED", "the dashboard does not answer to the name it was called by");
const ORIGIN_REFUSED = refusal("ORIGIN_REFUSED", "a page of another server makes this request");
const UNAUTHORIZED = refusal("TOKEN_WANTED", "this dashboard asks for a token");
const WRONG_TOKEN = refusal("TOKEN_WRONG", "that is not the token");
const TOO_MANY = refusal("TOKEN_TRIED", "too many tokens from this address wait to be looked at");
