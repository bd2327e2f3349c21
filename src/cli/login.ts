/** `quotekeeper login`: prints the address that a person opens, takes the code from there, and keeps the session. */
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { QuotekeeperError } from "../ground/errors.ts";
import { inHoursAndMinutes, inNewYork } from "../market/durations.ts";
import { type Edges, endingAtInterrupt } from "../ground/edges.ts";
import { beginLogin, finishLogin } from "../collect/login/personLogin.ts";
import { accountsToCall } from "../collector/operatorsWord.ts";
import { type LoginAccount, loginOf, sessionEnd } from "../collect/login/keptSession.ts";
import { command, flag, option } from "./command.ts";
import { say } from "./terminal/harmless.ts";

/** Exit code 0; 1 when an account of several was not let in. It fails as `logIn` does where there is one account. */
export const login = command({
  options: {
    account: option("<name>", "the account; default: each that has no session, one after the other"),
    again: flag("log in although there is a session"),
  },
  more: "No password is asked for: it is given on the service's own page. A collector that runs here goes on at once.",
  run: async (config, edges, { account, again }) => {
    const { clock, stdout, stderr } = edges;
    const dataDir = resolve(config.dataDir);
    const called = await accountsToCall(config, account);
    const wanting = called.flatMap((one) => loginOf(one) ?? []);
    const [first] = called;
    if (wanting.length === 0)
      throw new QuotekeeperError(
        "USAGE",
        `${first.service.title} wants no login: its credentials are all that it takes`,
      );
    let failed = 0;
    await endingAtInterrupt(edges, async (signal) => {
      const lines = linesOf(edges, signal);
      try {
        for (const of of wanting) {
          const endsAt = sessionEnd(of, dataDir, clock.now());
          if (endsAt && !again) sayUntil(edges, of, endsAt);
          else
            await logIn(of, { edges, dataDir, lines, signal }).catch((error: unknown) => {
              const goesOn = wanting.length > 1 && error instanceof QuotekeeperError && !signal.aborted;
              if (!goesOn) throw error;
              failed += 1;
              say(stderr, error.message);
            });
        }
      } finally {
        // Otherwise the open input keeps the process alive.
        await lines.return(undefined);
      }
    });
    if (failed > 0) return 1;
    if (wanting.length > 1) say(stdout, "All accounts are logged in.");
    return 0;
  },
});

/** How often a person may type the code of one address. */
const TRIES = 3;

type LoginContext = { edges: Edges; dataDir: string; lines: AsyncGenerator<string>; signal: AbortSignal };

/** @throws QuotekeeperError LOGIN_FAILED, LOGIN_CODE_WRONG after three tries, and the errors of a call */
async function logIn(of: LoginAccount, { edges, dataDir, lines, signal }: LoginContext): Promise<void> {
  const { clock, stdout, stderr } = edges;
  const { url, begun } = await beginLogin(of, clock, signal);
  const { account } = of;
  say(
    stdout,
    `Account ${account.name} of ${account.service.title}. Open this address, log in, and accept:`,
    "",
    url,
    "",
  );
  for (let tries = 1; ; tries += 1) {
    stdout.write("The code that the page shows: ");
    const line = await lines.next();
    // In a terminal the person's own Enter ends the line.
    if (!stdout.isTTY) stdout.write("\n");
    if (line.done === true)
      throw new QuotekeeperError("LOGIN_FAILED", `no code was given for ${account.name}`);
    try {
      const endsAt = await finishLogin(of, { begun, code: line.value.trim() }, { dataDir, clock, signal });
      return sayUntil(edges, of, endsAt);
    } catch (error) {
      const isCode = error instanceof QuotekeeperError && error.code === "LOGIN_CODE_WRONG";
      if (!isCode || tries === TRIES) throw error;
      say(stderr, error.message);
    }
  }
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
