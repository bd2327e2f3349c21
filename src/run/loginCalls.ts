/** The calls of a login. No answer of them is kept or told: it holds tokens. */
import type { LoginCall } from "../services/serviceLogin.ts";
import { VERSION } from "./version.ts";

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
