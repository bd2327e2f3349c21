/** `quotekeeper doctor`: a few calls of the account, and what their answers say of each assumption about the service. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { type Account, onlyDelayed } from "../accounts/account.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { counted, thousands } from "../ground/figures.ts";
import { expirationList } from "../market/optionChain.ts";
import { exchangeDate } from "../market/calendar/dates.ts";
import type { QuoteCall } from "../quotes/call.ts";
import { type Edges, endingAtInterrupt } from "../ground/edges.ts";
import type { OnceAnswer } from "../collector/once/onceJournal.ts";
import { accountsToCall } from "../collector/operatorsWord.ts";
import { VERSION } from "../ground/version.ts";
import { type Finding, MOST_CALLS, type Probe, type ProbedAnswer, VERDICTS } from "../services/checkup.ts";
import { experimentalNote, knownService } from "../services/registry.ts";
import type { OnceJob } from "../schedule/onceJob.ts";
import { askOnce, NO_LOG, onceJob } from "./askOnce.ts";
import { command, option } from "./command.ts";
import { say } from "./terminal/harmless.ts";

/** What is printed with --json, and stands in the file of --report. */
const doctorJson = z.strictObject({
  version: z.string(),
  service: z.string(),
  address: z.string().nullable(),
  calls: z.int(),
  statuses: z.array(z.int()),
  ended: z.string().nullable(),
  holds: z.boolean(),
  findings: z.array(
    z.strictObject({
      assumption: z.string(),
      verdict: z.enum(VERDICTS),
      why: z.string(),
      needed: z.boolean(),
    }),
  ),
});

type Report = z.infer<typeof doctorJson>;

/** Exit code 0 when all that is needed holds, 1 otherwise. It fails as the first call does where no call was answered. */
export const doctor = command({
  options: {
    account: option("<name>", "the account that asks; default: the first that is not drained"),
    report: option("<file>", "also write it to a file that is not there yet, fit for an issue"),
  },
  json: doctorJson,
  more: `It makes ${MOST_CALLS} calls at most, within the account's budget. Their answers are kept in the journal. What it prints and writes\nhas no prices, no symbols and no secrets in it.`,
  run: (config, edges, { account: named, report: path, printJson }) =>
    endingAtInterrupt(edges, async (signal) => {
      const [account] = await accountsToCall(config, named);
      const { probed, ended } = await probe(config, edges, { account, signal });
      const report = reportOf(account, probed, ended);
      const lines = linesOf(report);
      if (printJson) printJson(report);
      else say(edges.stdout, ...lines);
      if (path !== null) {
        await writeReport(resolve(edges.directory, path), `${lines.join("\n")}\n`);
        say(edges.stderr, `Wrote ${path}.`);
      }
      return report.holds ? 0 : 1;
    }),
});

/** Makes the calls of the service's checkup. @returns `ended`: the code of the error that ended them */
async function probe(
  config: Config,
  edges: Edges,
  { account, signal }: { account: Account; signal: AbortSignal },
): Promise<{ probed: Probe[]; ended: string | null }> {
  const { clock, stderr } = edges;
  const probed: Probe[] = [];
  if (account.feed.kind === "simulated")
    say(stderr, "SIMULATED market: it shows the program, and nothing of a broker's service.");
  while (answersIn(probed).length < MOST_CALLS) {
    const call = account.service.checkup.next(probed, exchangeDate(clock.now()));
    if (call === null) break;
    const answers: ProbedAnswer[] = [];
    const onAnswer = (answer: OnceAnswer): void => void answers.push(probedOf(answer));
    const job = onceJob([account], { name: "doctor", delayed: call.delayed, ...polledBy(call) });
    const { found } = await askOnce(config, edges, { job, log: NO_LOG, signal, onAnswer });
    // A call that wakes a session is made again.
    const woken = answers.findIndex(({ answer }) => answer.outcome !== "unauthorized");
    const [first, ...further] = answers.slice(woken);
    if (first) probed.push({ ...first, ...(further.length > 0 && { further }) });
    const [failure] = found.failures;
    if (failure && probed.length === 0) throw failure;
    if (failure) {
      say(stderr, failure.message);
      return { probed, ended: failure.code };
    }
    if (!first) break;
  }
  return { probed, ended: null };
}

/** The part of a job that makes one call. */
function polledBy(call: QuoteCall): Partial<OnceJob> {
  if (call.form === "symbols") return { symbols: call.symbols };
  if (call.form === "watchlist") return { watchlist: call.watchlist };
  if (call.form === "option") return { contracts: [call.contract] };
  const { underlying } = call;
  return {
    contracts: [
      call.form === "chain"
        ? { underlying, expiration: call.expiration, strikes: "all" }
        : expirationList(underlying),
    ],
  };
}

function probedOf({
  record: { request, status, headers, body, requestedAt, observedAt },
  answer,
}: OnceAnswer): ProbedAnswer {
  return { call: request as QuoteCall, answer, status, headers, body, requestedAt, observedAt };
}

function answersIn(probed: readonly Probe[]): ProbedAnswer[] {
  return probed.flatMap(({ further = [], ...first }) => [first, ...further]);
}

function reportOf(account: Account, probed: readonly Probe[], ended: string | null): Report {
  const { service, feed } = account;
  const findings = service.checkup.findings(probed, onlyDelayed(account));
  const own = service.addresses.find(({ baseUrl }) => feed.kind === "account" && baseUrl === feed.baseUrl);
  return {
    version: VERSION,
    service: service.name,
    address: own?.baseUrl ?? null,
    calls: answersIn(probed).length,
    statuses: answersIn(probed).map(({ status }) => status),
    ended,
    holds: findings.every(({ needed, verdict }) => !needed || verdict === "ok"),
    findings,
  };
}

const WORDS: Readonly<Record<Finding["verdict"], string>> = {
  ok: "OK     ",
  not_so: "NOT SO ",
  unknown: "UNKNOWN",
};

function linesOf({ version, service, address, statuses, ended, findings, holds }: Report): string[] {
  const failing = findings.filter(({ needed, verdict }) => needed && verdict !== "ok").length;
  const count = (of: Finding["verdict"]): number => findings.filter(({ verdict }) => verdict === of).length;
  const unmet = `${counted(failing, "sentence")} of what is needed ${failing === 1 ? "does" : "do"} not hold, or could not be seen.`;
  const note = experimentalNote(knownService(service));
  return [
    `quotekeeper ${version}, ${knownService(service).title} at ${address ?? "an address that is not the service's own"}`,
    ...(note === null ? [] : [`${note}.`]),
    `${counted(statuses.length, "answer")}, HTTP ${statuses.join(", ")}${ended === null ? "" : `; then ${ended}`}`,
    ...findings.map(({ verdict, assumption, why }) => `${WORDS[verdict]}  ${assumption}: ${why}.`),
    `${thousands(count("ok"))} hold, ${thousands(count("not_so"))} not so, ${thousands(count("unknown"))} not seen. ${holds ? "All that is needed holds." : unmet}`,
  ];
}

/** @throws QuotekeeperError REPORT_WRITE_FAILED */
async function writeReport(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: "wx" });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new QuotekeeperError("REPORT_WRITE_FAILED", `${path} cannot be written (${code ?? message})`, {
      cause,
    });
  }
}
