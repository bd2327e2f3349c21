/**
 * Tradier's limit of calls: so many in each minute, and headers that say how many were used.
 *
 * The limit is held over all nodes of the gateway. `X-Ratelimit-Used` is what one node has counted: about 20 calls in two
 * seconds had a last answer that said 3 (public recordings of OpenBB). That each node counts by itself is a guess.
 */

const MINUTE_MS = 60_000;

export type LimitOptions = {
  /** What `X-Ratelimit-Allowed` says. */
  says: number;
  /** Calls in a minute of the clock that are answered. */
  holds: number;
  /** Nodes of the gateway; calls go to each in turn. */
  nodes: number;
};

/**
 * documentation.tradier.com, rate limiting: 120 calls of market data in a minute, 60 in the sandbox. The sandbox's headers
 * said 200 in 2024. What production's headers say is not public.
 */
export const LIMITS: Readonly<Record<"production" | "sandbox", LimitOptions>> = {
  production: { says: 120, holds: 120, nodes: 3 },
  sandbox: { says: 200, holds: 60, nodes: 3 },
};

type Taken = { isAnswered: boolean; headers: Record<string, string> };

/**
 * Counts calls. A minute is the clock's, and no minute from the first call on, as the documentation has it: in all recordings
 * `X-Ratelimit-Expiry` was the next full minute.
 *
 * Assumed: a refused call is not counted, and its answer has the headers as well.
 *
 * @returns what becomes of a call at an instant, epoch ms
 */
export function createLimit({ says, holds, nodes }: LimitOptions): (atMs: number) => Taken {
  let minute = Number.NEGATIVE_INFINITY;
  let answered = 0;
  let turn = 0;
  const used: number[] = [];
  return (atMs) => {
    const now = Math.floor(atMs / MINUTE_MS);
    if (now !== minute) {
      minute = now;
      answered = 0;
      used.fill(0);
    }
    const node = turn % nodes;
    turn += 1;
    const isAnswered = answered < holds;
    if (isAnswered) {
      answered += 1;
      used[node] = (used[node] ?? 0) + 1;
    }
    const counted = used[node] ?? 0;
    return {
      isAnswered,
      headers: {
        "X-Ratelimit-Allowed": String(says),
        "X-Ratelimit-Used": String(counted),
        "X-Ratelimit-Available": String(Math.max(0, says - counted)),
        "X-Ratelimit-Expiry": String((now + 1) * MINUTE_MS),
      },
    };
  };
}
