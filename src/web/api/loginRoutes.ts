/** A person's login at the service of an account: the one thing that the dashboard does besides reading. */
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Clock } from "../../ground/clock.ts";
import { type ErrorCode, QuotekeeperError } from "../../ground/errors.ts";
import type { Log } from "../../ground/log.ts";
import { problemOf } from "../live.ts";
import type { ApiError, LoginStart, LoginDone } from "./types.ts";

/**
 * Begins a login at the service of an account.
 *
 * @throws QuotekeeperError ACCOUNT_UNKNOWN, LOGIN_FAILED, LOGIN_CODE_WRONG, and the errors of a call
 */
export type BeginLogin = (account: string, signal: AbortSignal) => Promise<BegunLogin>;

/**
 * `url`: what a person opens. `finish`: takes the code that is shown there, and resolves with when the login ends; it throws as
 * `BeginLogin`. The secrets in between stay in it.
 */
type BegunLogin = { url: string; finish: (code: string, signal: AbortSignal) => Promise<Date> };

type LoginOptions = {
  begin: BeginLogin;
  /** Whether the dashboard asks for a token. Without one any user of the machine could have the collector call with a login of his own. */
  guarded: boolean;
  clock: Pick<Clock, "monotonicMs">;
  log: Pick<Log, "info" | "warn">;
};

/** A code is a few letters. Bytes of JSON. */
const BODY_BYTES = 4_096;

const codeBody = z.object({ code: z.string().max(200) });

type LoginParams = { Params: { name: string } };

export function addLogins(app: FastifyInstance, { begin, guarded, clock, log }: LoginOptions): void {
  const begun = createBegunLogins(clock);
  // A service that hangs does not hold up the end of the program.
  const ending = new AbortController();
  app.addHook("preClose", async () => ending.abort());

  const post = <Answer>(path: string, act: (login: LoginAsked) => Promise<Answer>): void =>
    void app.post<LoginParams>(path, { bodyLimit: BODY_BYTES }, async (request, reply) => {
      const { body, params, visitor } = request;
      reply.header("cache-control", "no-store");
      try {
        if (!guarded) throw new QuotekeeperError("LOGIN_UNGUARDED", "this dashboard asks for no token");
        return await act({ account: params.name, visitor, body });
      } catch (error) {
        const problem = problemOf(error as Error);
        const status = STATUS.get(problem.code) ?? 503;
        if (status >= FAILED)
          log.warn({ code: problem.code, reason: problem.detail }, "a login from the dashboard failed");
        return reply.code(status).send({ error: problem } satisfies ApiError);
      }
    });

  post("/api/accounts/:name/login", async ({ account, visitor }): Promise<LoginStart> => {
    const login = await begin(account, ending.signal);
    begun.keep(account, visitor, login);
    return { url: login.url };
  });
  post("/api/accounts/:name/login/code", async ({ account, visitor, body }): Promise<LoginDone> => {
    const given = codeBody.safeParse(body);
    if (!given.success) throw new QuotekeeperError("QUERY_INVALID", "a login takes a code");
    const login = begun.find(account, visitor);
    const until = (await login.finish(given.data.code.trim(), ending.signal)).toISOString();
    begun.end(login);
    log.info({ account, until }, "somebody has logged in from the dashboard");
    return { until };
  });
}

type LoginAsked = { account: string; visitor: string; body: unknown };

/** Any other error is the service's, or of the way to it. */
const STATUS = new Map<string, number>([
  ["QUERY_INVALID", 400],
  ["LOGIN_UNGUARDED", 403],
  ["ACCOUNT_UNKNOWN", 404],
  ["LOGIN_NOT_BEGUN", 409],
  ["LOGIN_FAILED", 422],
  ["LOGIN_CODE_WRONG", 422],
] satisfies [ErrorCode, number][]);

/** From this one on an answer is told in the log: the service, or something of ours, has failed. */
const FAILED = 422;

/** How long a login that was begun can be finished, ms: a service gives a person no longer. */
const BEGUN_MS = 5 * 60_000;

/** Logins that wait for their codes, in memory alone: the last one that each visitor has begun for an account. */
function createBegunLogins({ monotonicMs }: Pick<Clock, "monotonicMs">) {
  const waiting = new Map<string, { login: BegunLogin; untilMs: number }>();
  const keyOf = (account: string, visitor: string): string => JSON.stringify([account, visitor]);
  const forgetOld = (): void => {
    for (const [key, { untilMs }] of waiting) if (untilMs <= monotonicMs()) waiting.delete(key);
  };
  return {
    keep: (account: string, visitor: string, login: BegunLogin): void => {
      forgetOld();
      waiting.set(keyOf(account, visitor), { login, untilMs: monotonicMs() + BEGUN_MS });
    },
    /** @throws QuotekeeperError LOGIN_NOT_BEGUN */
    find: (account: string, visitor: string): BegunLogin => {
      forgetOld();
      const found = waiting.get(keyOf(account, visitor));
      if (found) return found.login;
      throw new QuotekeeperError(
        "LOGIN_NOT_BEGUN",
        `no login of ${account} was begun here in the last five minutes`,
      );
    },
    /** It has its session. Another one, that was begun meanwhile, stays. */
    end: (login: BegunLogin): void => {
      for (const [key, kept] of waiting) if (kept.login === login) waiting.delete(key);
    },
  };
}
