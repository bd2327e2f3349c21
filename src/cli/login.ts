/** `quotekeeper login`: prints the address that a person opens, takes the code from there, and keeps the session. */
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../errors.ts";
import { inHoursAndMinutes, inNewYork } from "../run/durations.ts";
import { type Edges, endingAtInterrupt } from "../run/edges.ts";
import { beginLogin, finishLogin } from "../run/personLogin.ts";
import { accountsToCall } from "../run/operatorsWord.ts";
import { type LoginAccount, loginOf, sessionEnd } from "../run/accountSession.ts";
import type { AddCommand } from "./command.ts";
import { say } from "./terminal/harmless.ts";

type LoginOptions = { account?: string; again: boolean };

export const addLogin: AddCommand = (command, { run, edges }) => {
  command
    .option("--account <name>", "the account; default: each that has no session, one after the other")
    .option("--again", "log in although there is a session", false)
    .addHelpText(
      "after",
      "\nNo password is asked for: it is given on the service's own page. A collector that runs here goes on at once.",
    )
    .action((options: LoginOptions) => run((config) => login(config, edges, options)));
};

/** @returns 0 @throws QuotekeeperError LOGIN_FAILED, and the errors of a call */
async function login(config: Config, edges: Edges, { account, again }: LoginOptions): Promise<number> {
  const { clock, stdout } = edges;
  const dataDir = resolve(config.dataDir);
  const called = await accountsToCall(config, account ?? null);
  const wanting = called.flatMap((one) => loginOf(one) ?? []);
  const [first] = called;
  if (wanting.length === 0 && first)
    throw new QuotekeeperError(
      "USAGE",
      `${first.service.title} wants no login: its credentials are all that it takes`,
    );
  await endingAtInterrupt(edges, async (signal) => {
    const lines = linesOf(edges, signal);
    for (const of of wanting) {
      const endsAt = sessionEnd(of, dataDir, clock.now());
      if (endsAt && !again) sayUntil(edges, of, endsAt);
      else sayUntil(edges, of, await logIn(of, { edges, dataDir, lines, signal }));
    }
    await lines.return(undefined);
  });
  if (wanting.length > 1) say(stdout, "All accounts are logged in.");
  return 0;
}

type Logging = { edges: Edges; dataDir: string; lines: AsyncGenerator<string>; signal: AbortSignal };

async function logIn(of: LoginAccount, { edges, dataDir, lines, signal }: Logging): Promise<Date> {
  const { clock, stdout } = edges;
  const { url, pending } = await beginLogin(of, clock, signal);
  say(
    stdout,
    `Account ${of.account.name} of ${of.account.service.title}. Open this address, log in, and accept:`,
    "",
    url,
    "",
  );
  stdout.write("The code that the page shows: ");
  const line = await lines.next();
  // In a terminal the person's own Enter ends the line.
  if (!stdout.isTTY) stdout.write("\n");
  if (line.done === true) throw new QuotekeeperError("LOGIN_FAILED", "no code was given");
  return finishLogin(of, { pending, code: line.value.trim() }, { dataDir, clock, signal });
}

/** The lines of the standard input, as long as nobody has interrupted. */
async function* linesOf({ stdin }: Edges, signal: AbortSignal): AsyncGenerator<string> {
  const input = stdin?.();
  if (!input) return;
  const reader = createInterface({ input });
  const close = (): void => reader.close();
  signal.addEventListener("abort", close);
  try {
    for await (const line of reader) yield line;
  } finally {
    signal.removeEventListener("abort", close);
    reader.close();
  }
}

function sayUntil({ stdout, clock }: Edges, { account }: LoginAccount, endsAt: Date): void {
  const left = inHoursAndMinutes(endsAt.getTime() - clock.now().getTime());
  say(stdout, `${account.name} is logged in until ${inNewYork(endsAt)}, for ${left}.`);
}
