/** Which host takes the credentials, of those that a service may have: `quotekeeper init` makes a call to each until one does. */
import { parse as parseDotenv } from "dotenv";
import type { FetchOptions } from "../../collect/fetchQuotes.ts";
import { loadConfig } from "../../config/loadEnvironment.ts";
import { instantFromDate } from "../../ground/clock.ts";
import { type Edges, endingAtInterrupt } from "../../ground/edges.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { VERSION } from "../../ground/version.ts";
import type { QuoteCall } from "../../quotes/call.ts";
import { say } from "../terminal/harmless.ts";
import type { AnswerCheck } from "./questions.ts";

/**
 * Says which host takes the credentials. Where none does, one that could not be asked may be the right one: the first of them holds.
 *
 * @param lines of `.env`, with the account
 * @returns the line of the host, unless it is the default; `problem`: all refuse the credentials
 * @throws Interrupted
 */
export async function tryHosts(lines: readonly string[], edges: Edges): Promise<AnswerCheck> {
  const { service, feed } = loadConfig({ ...edges.env, ...parseDotenv(lines.join("\n")) }, edges.directory);
  const [option] = (service.options ?? []).flatMap((one) => ("address" in one && one.others ? [one] : []));
  // accounts.yaml has the credentials of its accounts.
  if (!option?.others || feed.kind !== "account" || Object.values(feed.credentials).includes(""))
    return { lines: [] };
  const { variable, name, address: usual, others } = option;
  const { baseUrl, credentials, options } = feed;
  const given = options?.[name];
  const tried: { address: string; isRefused: boolean; lack: string | null }[] = [];
  for (const address of given === undefined ? [usual, ...others.addresses] : [given]) {
    const at = { service, baseUrl, credentials: () => credentials, options: { ...options, [name]: address } };
    tried.push({ address, ...(await askOf(others.trial, at, edges)) });
    if (tried.at(-1)?.lack === null) break;
  }
  const best = tried.find(({ lack }) => lack === null) ?? tried.find(({ isRefused }) => !isRefused);
  if (!best) {
    const { all, end } = service.credentials;
    const refusals = tried.map(({ address, lack }) => `${address} answers ${lack}`).join("; ");
    const refused = `${all.map((one) => one.variable).join(" and ")} are refused: ${refusals}.`;
    return { problem: end === undefined ? refused : `${refused} ${end}` };
  }
  const { address, lack } = best;
  const takes = `${address} takes the credentials`;
  if (lack === null) say(edges.stdout, `Tried      ${takes}.`);
  else say(edges.stdout, `Not tried  whether ${takes} (${lack}). It is used until ${variable} says another.`);
  if (given !== undefined) return { lines: [`# ${variable} comes from the environment.`] };
  return { lines: address === usual ? [] : [`${variable}=${address}`] };
}

/** @returns `lack`: why the credentials are not known to be taken; null: they are. @throws Interrupted */
async function askOf(
  call: QuoteCall,
  at: Pick<FetchOptions, "service" | "baseUrl" | "options" | "credentials">,
  edges: Edges,
): Promise<{ isRefused: boolean; lack: string | null }> {
  const { openFetchQuotes } = await import("../../collect/fetchQuotes.ts");
  const { clock } = edges;
  const observe = () => instantFromDate(clock.now());
  const opened = openFetchQuotes({ ...at, clock, observe, userAgent: `quotekeeper/${VERSION}` });
  try {
    const response = await endingAtInterrupt(edges, (signal) => opened.fetchQuotes(call, signal));
    const answer = at.service.classify(response, response.request);
    if (answer.outcome === "quotes") return { isRefused: false, lack: null };
    return { isRefused: answer.outcome === "unauthorized" && !answer.ofFeed, lack: answer.detail };
  } catch (error) {
    if (!(error instanceof QuotekeeperError)) throw error;
    return { isRefused: false, lack: error.detail };
  } finally {
    await opened.close();
  }
}
