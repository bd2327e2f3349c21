/**
 * The one budget of an account while a collector runs: programs beside it on the same data directory (`poll`, sweeps) ask it
 * for each call. Its governor admits theirs like its own and hears what came of them, so together they keep within the limit
 * also where the service tells nothing of its count.
 */
import { z } from "zod";
import { atMost, type Clock } from "../../clock.ts";
import type { Permit } from "../../collect/dispatch/borrowedCalls.ts";
import { OUTCOMES } from "../../quotes/answer.ts";
import { SERVICES } from "../../services/registry.ts";
import { talkToCollector } from "./lock.ts";
import { type ThisProcess, type Serve } from "./lockDoor.ts";

/** A poll goes before the queue, because a person waits for it; a sweep gets what the queue leaves. */
type Asker = "poll" | "sweep";

/** A call whose end nobody reports for so long, in ms, has failed: several times as long as a call may take. */
const REPORT_MS = 60_000;

/** The headers that are told: what services keep of an answer, but for what describes its body. A governor reads no long ones. */
const TOLD_HEADERS = new Set(
  SERVICES.flatMap(({ keptHeaders }) => keptHeaders.filter((name) => !name.startsWith("content-"))),
);
const TOLD_LENGTH = 100;

const wanted = z.object({
  ask: z.literal("call"),
  by: z.enum(["poll", "sweep"]),
  account: z.string().max(64),
});
const reply = z.object({ go: z.boolean() });
const report = z.object({
  outcome: z.enum(OUTCOMES),
  headers: z.record(
    z.string().refine((name) => TOLD_HEADERS.has(name)),
    z.string().max(TOLD_LENGTH),
  ),
});

/** Borrows a call of an account: see `Dispatcher.borrow`. */
type Borrow = (urgent: boolean, signal: AbortSignal) => Promise<Permit>;

/** The collector's half. @param borrowFrom by an account's key how its calls are borrowed; null: the account is not called here */
export function serveBorrowers(borrowFrom: (account: string) => Borrow | null, clock: Clock): Serve {
  return async (asked, talk) => {
    const { data: want } = wanted.safeParse(asked);
    if (!want) return;
    const borrow = borrowFrom(want.account);
    if (borrow === null) return talk.say({ go: false } satisfies z.infer<typeof reply>);
    const gone = new AbortController();
    const reported = talk.next();
    void reported.then(() => gone.abort("gone"));
    const permit = await borrow(want.by === "poll", gone.signal).catch(() => null);
    if (permit === null) return;
    talk.say({ go: true } satisfies z.infer<typeof reply>);
    let heard: unknown = null;
    await atMost(
      REPORT_MS,
      reported.then((said) => (heard = said)),
      clock,
    );
    permit(report.safeParse(heard).data ?? null);
  };
}

/** What a call is asked for with. */
type Asking = {
  by: Asker;
  account: string;
  clock: Clock;
  self: ThisProcess;
  /** Called once when the permit takes longer than somebody would wait without a word. */
  onWait?: () => void;
  signal?: AbortSignal;
};

/** So long somebody waits without a word, in ms. */
const WORDLESS_MS = 2_000;

/**
 * Asks the collector of a data directory for a call, and waits for its permit.
 *
 * @returns to be called with the call's end, once: a program that dies first has made a call that failed; null where none runs, or one of another account: the budget is the asker's own
 */
export async function askForCall(
  dataDir: string,
  { by, account, onWait, signal, ...options }: Asking,
): Promise<Permit | null> {
  const talk = await talkToCollector(dataDir, options);
  if (talk === null) return null;
  if (signal?.aborted) talk.end();
  signal?.addEventListener("abort", talk.end, { once: true });
  talk.say({ ask: "call", by, account } satisfies z.infer<typeof wanted>);
  let answered = false;
  const answer = talk.next().finally(() => (answered = true));
  if (onWait) await atMost(WORDLESS_MS, answer, options.clock);
  if (!answered) onWait?.();
  const { data } = reply.safeParse(await answer);
  if (data?.go)
    return (end) => {
      if (end) talk.say({ ...end, headers: toldOf(end.headers) });
      talk.end();
      signal?.removeEventListener("abort", talk.end);
    };
  talk.end();
  signal?.removeEventListener("abort", talk.end);
  return null;
}

function toldOf(headers: Readonly<Record<string, string>>): Record<string, string> {
  const told = Object.entries(headers).filter(
    ([name, value]) => TOLD_HEADERS.has(name) && value.length <= TOLD_LENGTH,
  );
  return Object.fromEntries(told);
}
