/** Calls that a command makes by itself: within the account's budget, through the journal. */
import { resolve } from "node:path";
import { type Account, accountKey } from "../accounts/account.ts";
import { instantFromDate } from "../clock.ts";
import { namesOf } from "../collect/asks.ts";
import type { PlannedCall } from "../collect/callPlan.ts";
import { Dispatcher } from "../collect/dispatcher.ts";
import type { Config } from "../config/loadEnvironment.ts";
import type { QuoteCall } from "../quotes/call.ts";
import { thisProcess } from "../run/beside/lock.ts";
import { askForCall } from "../run/beside/permits.ts";
import type { Edges } from "../run/edges.ts";
import { type Collected, collectCall } from "../run/pipeline.ts";
import type { AccountStations, Stations } from "../run/stations.ts";
import { say } from "./terminal/harmless.ts";

type ByHand = {
  account: Account;
  open: AccountStations;
  stations: Stations;
};

/** What came of the last call. */
type Last = { collected: Collected | null; error: unknown; saidWait: boolean };

const NOTHING_YET: Readonly<Last> = { collected: null, error: null, saidWait: false };

/** What brings an answer only into the journal: it is stored later. */
const LATER = { notify: () => undefined };

/**
 * Opens what makes a call once, within the account's budget or with the permit of a collector that runs beside. It gives the
 * call's answer, or none where the call could not leave; it throws the error of a call that brought no answer.
 */
export async function openCallsByHand(
  config: Config,
  edges: Edges,
  { account, open, stations }: ByHand,
): Promise<(call: QuoteCall) => Promise<Collected[]>> {
  const { clock, stderr } = edges;
  const last: Last = { ...NOTHING_YET };
  const asking: Parameters<typeof askForCall>[1] = {
    by: "poll",
    account: accountKey(account),
    clock,
    self: await thisProcess(),
    onWait: () =>
      say(
        stderr,
        "A collector runs here, and its budget is used up at the moment: waiting for a call of it.",
      ),
  };
  const dispatcher = new Dispatcher({
    ...open.budget,
    clock,
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    once: true,
    atOnce: () => 1,
    borrowable: () => 0,
    hasSession: () => open.feed.session?.isOpen() ?? true,
    // Each process has a simulated service of its own.
    ...(!open.feed.simulated && { borrow: () => askForCall(resolve(config.dataDir), asking) }),
    onHeld: (forMs) => {
      if (!last.saidWait && forMs > 2_000)
        say(
          stderr,
          `The calls ${open.account.limitWindowMs === 60_000 ? "of this minute" : "of the limit"} are used up; waiting ${Math.ceil(forMs / 1000)} s.`,
        );
      last.saidWait = true;
    },
    send: async (planned, signal, onArrived) => {
      const path = { ...stations, ...open, loader: LATER };
      try {
        return (last.collected = await collectCall(planned, path, { signal, onArrived }));
      } catch (error) {
        last.error = error;
        throw error;
      }
    },
    onResult: () => undefined,
  });
  return async (call) => {
    // It would wait for a login without an end.
    open.feed.session?.credentials();
    Object.assign(last, NOTHING_YET);
    dispatcher.add(byHand(call, clock.now()));
    await dispatcher.idle();
    if (last.error !== null) throw last.error;
    return last.collected ? [last.collected] : [];
  };
}

/** A call for no job, at a slot that has no end. */
function byHand(call: QuoteCall, now: Date): PlannedCall {
  const urgency = { priority: 0, deadlineMs: Infinity };
  const want = { ...urgency, job: "", slotAt: instantFromDate(now), closes: false };
  return {
    ...urgency,
    call,
    wants: new Map(namesOf(call).map((name) => [name, [want]])),
    account: null,
    jobs: [],
    slotAt: null,
    unseenSinceMs: 0,
  };
}
