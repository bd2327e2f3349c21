/** The calls of a login, and those for a token. No answer of them is kept or told: it holds tokens. */
import { type Clock, instantFromDate } from "../../ground/clock.ts";
import { correctionAfterRefusal } from "../../services/clockSkew.ts";
import type { LoginCall, NotLoggedIn } from "../../services/serviceLogin.ts";
import { type Stamp, stampOf } from "../../services/stamp.ts";
import type { RawAnswer } from "../../quotes/answer.ts";
import { inSeconds } from "../../market/durations.ts";
import { VERSION } from "../../ground/version.ts";

/** Rejects with the errors of a call; nothing signed is in them. */
export async function callLogin(
  { url, headers, body }: LoginCall,
  signal?: AbortSignal,
): Promise<Pick<RawAnswer, "status" | "body"> & { date?: string }> {
  // Whoever only looks at sessions loads no HTTP.
  const { openCaller } = await import("../transport/httpCalls.ts");
  const caller = openCaller(url, { userAgent: `quotekeeper/${VERSION}` });
  try {
    const method = body ? "POST" : "GET";
    const written = { method, target: "", accept: "*/*", ...(body && { body }) } as const;
    const answered = await caller.call(
      { ...written, url, signed: headers },
      { callers: signal ? [signal] : [] },
    );
    const date = answered.headers["date"];
    return { ...answered, ...(typeof date === "string" && { date }) };
  } finally {
    await caller.close();
  }
}

type LoginCallOptions = {
  clock: Clock;
  signal?: AbortSignal | undefined;
  call?: typeof callLogin | undefined;
};

/**
 * Makes a call of a login, and once more by the service's clock where the service refuses the machine's.
 *
 * @param read what the service says
 */
export async function callInTime<Said extends object | null>(
  written: (stamp: Stamp) => LoginCall,
  read: (answer: Pick<RawAnswer, "status" | "body">) => Said | NotLoggedIn,
  { clock, signal, call = callLogin }: LoginCallOptions,
): Promise<Said | NotLoggedIn> {
  const requestedAt = instantFromDate(clock.now());
  const answer = await call(written(stampOf(clock)), signal);
  const said = read(answer);
  if (!isRefused(said) || said.fault !== "clock") return said;
  const observedAt = instantFromDate(clock.now());
  const correctionMs = correctionAfterRefusal(0, {
    requestedAt,
    observedAt,
    headers: { date: answer.date ?? "" },
  });
  if (correctionMs === 0) return said;
  const again = read(await call(written(stampOf(clock, clock.now().getTime() + correctionMs)), signal));
  if (!isRefused(again) || again.fault !== "clock") return again;
  const off = inSeconds(Math.round(Math.abs(correctionMs) / 1_000) * 1_000);
  return { ...again, refused: `${again.refused}; this machine's clock is ${off} off` };
}

export function isRefused(said: object | null): said is NotLoggedIn {
  return said !== null && "refused" in said;
}
