/** The calls of a login. No answer of them is kept or told: it holds tokens. */
import type { Clock } from "../clock.ts";
import type { LoginCall, Stamp } from "../services/serviceLogin.ts";
import { VERSION } from "./version.ts";

export function stampOf({ now, random }: Pick<Clock, "now" | "random">): Stamp {
  return {
    nonce: Buffer.from(random(16)).toString("hex"),
    timestamp: Math.floor(now().getTime() / 1_000),
  };
}

/** Rejects with the errors of a call; nothing signed is in them. */
export async function callLogin(
  { url, headers }: LoginCall,
  signal?: AbortSignal,
): Promise<{ status: number; body: Uint8Array }> {
  // Whoever only looks at sessions loads no HTTP.
  const { openCaller } = await import("../collect/transport/httpCalls.ts");
  const caller = openCaller(url, { userAgent: `quotekeeper/${VERSION}` });
  try {
    const written = { method: "GET", target: "", accept: "*/*" } as const;
    return await caller.call({ ...written, url, signed: headers }, { callers: signal ? [signal] : [] });
  } finally {
    await caller.close();
  }
}
