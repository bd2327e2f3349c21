/** Asks the server. An answer that is an error rejects with its problem. */
import { signal } from "@preact/signals";
import type { ApiError, Problem } from "../../api/types.ts";
import { note } from "./pageLine.ts";

export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Where the page lies, perhaps below a proxy's path: every view is one step below it. */
export const BASE = new URL(".", location.href);

/** Whether the server wants a token first. */
export const tokenWanted = signal(false);

/** An answer takes no longer, ms: the server waits 8 s for its database. What hangs would fill the browser's connections. */
const DEADLINE_MS = 10_000;

/** The server does not answer. The page's line tells of it, above every view. */
export const AWAY: Problem = {
  code: "SERVER_AWAY",
  detail: "the dashboard's server does not answer",
  hint: "Is `quotekeeper start` or `quotekeeper web` still running? The page goes on by itself when it is back.",
  person: true,
};

/** The server is there, and has not answered in time. */
const SLOW: Problem = {
  code: "SERVER_SLOW",
  detail: `the dashboard's server has not answered within ${DEADLINE_MS / 1_000} s`,
  hint: "Choose a shorter time, or load the page again.",
  person: false,
};

/** @throws ApiProblem; DOMException AbortError when it is no longer wanted */
export async function ask<T>(
  path: string,
  query: Record<string, string> = {},
  abort?: AbortSignal,
): Promise<T> {
  const search = new URLSearchParams(query).toString();
  return (await send(`${path}${search === "" ? "" : `?${search}`}`, {}, abort)) as T;
}

/** Has the server do something. @throws ApiProblem */
export async function post<T>(path: string, body: object): Promise<T> {
  const headers = { "content-type": "application/json" };
  return (await send(path, { method: "POST", headers, body: JSON.stringify(body) })) as T;
}

export async function logIn(token: string): Promise<void> {
  await post("api/login", { token });
  tokenWanted.value = false;
}

export async function logOut(): Promise<void> {
  await send("api/logout", { method: "POST" });
  tokenWanted.value = true;
}

/** @returns the answer's JSON; null: it has none */
async function send(path: string, init: RequestInit, abort?: AbortSignal): Promise<unknown> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  let response: Response;
  let text: string;
  try {
    // eslint-disable-next-line no-restricted-properties -- browsers have it
    const signal = abort ? AbortSignal.any([abort, deadline]) : deadline;
    response = await fetch(new URL(path, BASE), { ...init, signal });
    text = await response.text();
  } catch (error) {
    if (abort?.aborted) throw error;
    if (deadline.aborted) throw new ApiProblem(SLOW);
    note("broke");
    throw new ApiProblem(AWAY);
  }
  const body = jsonOf(text);
  const problem = (body as Partial<ApiError> | null)?.error;
  // Something between may have answered for the server: a proxy, or a network that wants a login.
  if (body === undefined || (!response.ok && !problem))
    throw new ApiProblem({
      ...AWAY,
      detail: `${location.host} answered ${response.status}, not the dashboard`,
    });
  note("answered");
  if (response.ok) return body;
  if (response.status === 401 && problem?.code === "TOKEN_WANTED") tokenWanted.value = true;
  throw new ApiProblem(problem ?? AWAY);
}

/** Null: the text is empty; undefined: it is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return undefined;
  }
}
