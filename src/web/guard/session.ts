/** The token of the dashboard: compared in constant time, and the signed cookie that stands for it. */
import { createHash, timingSafeEqual } from "node:crypto";
import cookie from "@fastify/cookie";
import type { Clock } from "../../clock.ts";

/** Name of the cookie. */
export const COOKIE = "quotekeeper_session";

/** How long a login lasts, ms. */
export const SESSION_MS = 30 * 86_400_000;

/** Most sessions that are known by heart. Older ones are still good, and looked at anew. */
const MOST_KNOWN = 1_000;

/** Whether two texts are the same, in a time that tells nothing of where they differ. */
export function sameText(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** Logins under one token: cookies' values that end by themselves. Who knows one does not know the token. */
type Sessions = {
  issue: () => string;
  /** Whether a value was issued under this token, by this process or one before it, and has not ended. */
  isGood: (value: string) => boolean;
  /**
   * The same of a value that was issued or found good before, and else false. Chance is part of each value, so a guess at
   * the token cannot be tried out here.
   */
  isKnown: (value: string) => boolean;
};

/** Sessions outlive the process: their key is the token. */
export function createSessions(token: string, { now, random }: Pick<Clock, "now" | "random">): Sessions {
  const signer = new cookie.Signer(token);
  const known = new Set<string>();
  const know = (value: string): void => {
    const [oldest] = known;
    if (known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest);
    known.add(value);
  };
  const lasts = (value: string): boolean => {
    const ends = /^(\d{1,15})-/.exec(value)?.[1];
    if (ends !== undefined && Number(ends) > now().getTime()) return true;
    known.delete(value);
    return false;
  };
  return {
    issue: () => {
      const chance = Buffer.from(random(16)).toString("hex");
      const value = signer.sign(`${now().getTime() + SESSION_MS}-${chance}`);
      know(value);
      return value;
    },
    isGood: (value) => {
      const good = signer.unsign(value).valid && lasts(value);
      if (good) know(value);
      return good;
    },
    isKnown: (value) => known.has(value) && lasts(value),
  };
}
