/** Deadlines of one call that win whatever the HTTP client does: a body read has hung past its abort signal. */
import { QuotekeeperError } from "../../ground/errors.ts";

export type Deadlines = {
  /** For a connection to an address that is known, with its TLS handshake. */
  connectMs: number;
  headersMs: number;
  callMs: number;
};

export type Watch = {
  signal: AbortSignal;
  headersArrived: () => void;
};

/**
 * Gives what `work` gives, unless a deadline or a signal of the callers comes first; `work` is then left behind, settled or
 * not. Timers are the process's own and not the clock's: a deadline that a test could move would end nothing.
 *
 * @param address named in errors
 * @throws QuotekeeperError SERVICE_TIMEOUT, CALL_CANCELLED, and whatever `work` throws
 */
export async function withDeadlines<T>(
  work: (watch: Watch) => Promise<T>,
  { headersMs, callMs }: Deadlines,
  { address, callers }: { address: string; callers: readonly AbortSignal[] },
): Promise<T> {
  const abort = new AbortController();
  let giveUp: (error: QuotekeeperError) => void = () => undefined;
  const givenUp = new Promise<never>((_resolve, reject) => {
    giveUp = (error) => {
      // First ours, then the abort: what the client makes of that comes too late to be the answer.
      reject(error);
      abort.abort();
    };
  });
  const after = (ms: number, what: string): NodeJS.Timeout =>
    setTimeout(() => giveUp(timeout(`${address}: ${what} within ${ms} ms`)), ms);
  const headers = after(headersMs, "no answer began");
  const whole = after(callMs, "the answer did not end");
  const cancel = (): void =>
    giveUp(new QuotekeeperError("CALL_CANCELLED", `${address}: the call was cut off`));
  for (const caller of callers) caller.addEventListener("abort", cancel, { once: true });
  try {
    // Said before anything is sent: nothing is then.
    if (callers.some(({ aborted }) => aborted)) cancel();
    if (abort.signal.aborted) return await givenUp;
    const working = work({ signal: abort.signal, headersArrived: () => clearTimeout(headers) });
    return await Promise.race([givenUp, working]);
  } finally {
    clearTimeout(headers);
    clearTimeout(whole);
    for (const caller of callers) caller.removeEventListener("abort", cancel);
  }
}

function timeout(detail: string): QuotekeeperError {
  return new QuotekeeperError("SERVICE_TIMEOUT", detail);
}
