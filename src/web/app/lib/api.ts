/** Asks the server. An answer that is an error rejects with its problem. */
import { signal } from "@preact/signals";
import type { ApiError, Problem } from "../../api/types.ts";

/** What went wrong, with its remedy. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Whether the server wants a token first. */
export const tokenWanted = signal(false);

/** Nobody answers. */
export const AWAY: Problem = {
  code: "SERVER_AWAY",
  detail: "the dashboard's server does not answer",
  hint: "Is `quotekeeper start` or `quotekeeper web` still running? The page goes on by itself when it is back.",
  person: true,
};

/** @throws ApiProblem; DOMException AbortError when it is no longer wanted */
export async function ask<T>(
  path: string,
  query: Record<string, string> = {},
  abort?: AbortSignal,
): Promise<T> {
  const search = new URLSearchParams(query).toString();
  const response = await send(`${path}${search === "" ? "" : `?${search}`}`, { signal: abort ?? null });
  return (await response.json()) as T;
}

/** Gives the token. @throws ApiProblem when it is wrong */
export async function logIn(token: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  await send("/api/login", { method: "POST", headers, body: JSON.stringify({ token }) });
  tokenWanted.value = false;
}

/** Ends the login. */
export async function logOut(): Promise<void> {
  await send("/api/logout", { method: "POST" });
  tokenWanted.value = true;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiProblem(AWAY);
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as ApiError | null;
  if (response.status === 401 && body?.error.code === "TOKEN_WANTED") tokenWanted.value = true;
  throw new ApiProblem(body?.error ?? { ...AWAY, detail: `the server answered ${response.status}` });
}
