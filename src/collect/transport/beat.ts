/** One GET to whoever watches over the program from outside: its status counts, nothing else of the answer is read. */
import { Agent } from "undici";
import { QuotekeeperError } from "../../ground/errors.ts";
import { withDeadlines } from "./deadlines.ts";
import { transportFailure } from "./httpCalls.ts";
import { wireConnector } from "./wire.ts";

/** For all of it, from the look-up of the name to the head of the answer, in ms. */
const BEAT_MS = 5_000;

type BeatOptions = { userAgent: string; signal: AbortSignal; deadlineMs?: number };

/**
 * Follows no redirect. A user name and a password of the address are sent as Basic authentication.
 *
 * @returns null, or why it was not taken, without the address
 */
export async function sendBeat(
  url: string,
  { userAgent, signal: ending, deadlineMs = BEAT_MS }: BeatOptions,
): Promise<string | null> {
  const { origin, pathname, search, username, password } = new URL(url);
  const agent = new Agent({
    connections: 1,
    connect: wireConnector({ timeout: deadlineMs, rejectUnauthorized: true }),
  });
  try {
    const user = [username, password].map(decodeURIComponent).join(":");
    const deadlines = { connectMs: deadlineMs, headersMs: deadlineMs, callMs: deadlineMs };
    return await withDeadlines(
      async ({ signal }) => {
        const { statusCode, body } = await agent.request({
          origin,
          path: `${pathname}${search}`,
          method: "GET",
          signal,
          headers: {
            "user-agent": userAgent,
            ...(user !== ":" && { authorization: `Basic ${Buffer.from(user).toString("base64")}` }),
          },
        });
        body.on("error", () => undefined).destroy();
        if (statusCode >= 200 && statusCode < 300) return null;
        const isRedirect = statusCode >= 300 && statusCode < 400;
        return `HTTP ${statusCode}${isRedirect ? ", and a redirect is not followed" : ""}`;
      },
      deadlines,
      { address: "it", callers: [ending] },
    );
  } catch (error) {
    const isLate = error instanceof QuotekeeperError && error.code === "SERVICE_TIMEOUT";
    return isLate ? `no answer within ${deadlineMs / 1_000} s` : transportFailure(error);
  } finally {
    void agent.destroy();
  }
}
