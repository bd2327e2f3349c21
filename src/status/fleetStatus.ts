/** What `status` says of several collectors on one archive: what was read, as lines with a verdict. Pure. */
import type { CollectorRow, FleetRows, OwnedAccount } from "../archive/ledger/fleetTypes.ts";
import { inNewYork, roughly } from "../market/durations.ts";
import type { KnownLeases } from "../accounts/lease/leaseFile.ts";
import type { Line } from "./statusJson.ts";
import { bytes, thousands } from "../ground/figures.ts";

/** Clocks of running collectors that are farther apart, in ms, need a person. */
const CLOCKS_APART_MS = 5_000;

/** An account that nobody calls for so long, in ms, needs a person: one whose owner died is taken within 15 s. */
const OWNERLESS_MS = 30_000;

/** Less of a journal that is not loaded, in bytes, is what is just being loaded. */
const BEHIND_BYTES = 1_000_000;

/**
 * Collectors and owners.
 *
 * @param fleet null: one collector alone, or the database cannot be asked
 * @param own what this machine's own collector has said: since when the database has not confirmed its leases, and since when
 *   nobody calls which accounts
 */
export function fleetLines(
  fleet: FleetRows | null,
  own: Pick<KnownLeases, "unsureSince" | "uncalled">,
): Line[] {
  const running = fleet?.collectors.filter(({ state }) => state === "running") ?? [];
  const unsure = [
    ...(own.unsureSince === null ? [] : [unsureText(own.unsureSince)]),
    ...Object.entries(own.uncalled).map(([account, since]) => uncalledText(account, since)),
  ];
  const told = fleet?.collectors.map(collectorText) ?? [];
  const clocks = clocksText(running);
  const troubled = told.some((one) => one.troubled) || unsure.length + clocks.length > 0;
  const text = [...unsure, ...told.map((one) => one.text), ...clocks].join("; ");
  if (text === "") return [];
  const lines: Line[] = [{ subject: "collectors", state: troubled ? "attention" : "ok", text }];
  if (!fleet || fleet.accounts.length === 0) return lines;
  const owners = fleet.accounts.map((account) => ownerText(account, running.length > 0));
  const state = owners.some((one) => one.troubled) ? "attention" : "ok";
  return [...lines, { subject: "owners", state, text: owners.map((one) => one.text).join(", ") }];
}

function unsureText(since: string): string {
  return `this machine's own does not know since ${inNewYork(new Date(since))} whether its accounts are still its own: the database does not answer it`;
}

function uncalledText(account: string, since: string): string {
  return `nobody calls ${account} since ${inNewYork(new Date(since))}: the database has granted its lease to no collector; see that the database answers this machine within 5 s`;
}

type StatusText = { text: string; troubled: boolean };

function collectorText(collector: CollectorRow): StatusText {
  const { name, version, state, seenAgoMs, journalLag, filesDiffer } = collector;
  const remedy = `start it again, or say \`quotekeeper accounts forget ${handleOf(collector)}\``;
  if (state === "gone")
    return {
      text: `${name} was not seen for ${roughly(seenAgoMs)}, and its journal may hold answers that the archive has not: ${remedy}`,
      troubled: true,
    };
  const behind = journalLag ?? 0;
  if (state === "stopped" && behind > 0)
    return {
      text: `${name} has stopped, and ${bytes(behind)} of its journal are answers that the archive has not: ${remedy}`,
      troubled: true,
    };
  if (state === "stopped") return { text: `${name} stopped ${roughly(seenAgoMs)} ago`, troubled: false };
  const notes = [
    ...(behind > BEHIND_BYTES ? [`${bytes(behind)} of its journal are not loaded yet`] : []),
    ...(filesDiffer ? ["its job files or accounts are others than those in force: give all the same"] : []),
  ];
  const told = notes.length > 0 ? ` (${notes.join("; ")})` : "";
  return { text: `${name} runs ${version}${told}`, troubled: filesDiffer };
}

/** What a command takes for it: a name that a shell would take for something else is not offered. */
function handleOf({ name, id }: CollectorRow): string {
  return /^\w[\w.-]*$/.test(name) ? name : id;
}

function clocksText(running: readonly CollectorRow[]): string[] {
  const offsets = running.flatMap(({ clockOffsetMs }) => clockOffsetMs ?? []);
  const apartMs = offsets.length > 1 ? Math.max(...offsets) - Math.min(...offsets) : 0;
  if (apartMs <= CLOCKS_APART_MS) return [];
  return [`their clocks are ${roughly(apartMs)} apart: see to the machines' time service`];
}

function ownerText(
  { account, owner, fence, renewedAgoMs, takeOvers, takesPart }: OwnedAccount,
  someRun: boolean,
): StatusText {
  const times =
    takeOvers === 0
      ? ""
      : `, taken over ${takeOvers === 1 ? "once" : `${thousands(takeOvers)} times`} in the last day`;
  const renewed = renewedAgoMs === null ? "" : `renewed ${roughly(renewedAgoMs)} ago`;
  if (owner !== null)
    return { text: `${account} by ${owner} (fence ${fence ?? 0}, ${renewed}${times})`, troubled: false };
  const troubled = someRun && takesPart && (renewedAgoMs ?? Infinity) > OWNERLESS_MS;
  const last = renewedAgoMs === null ? "" : ` (last ${renewed}${times})`;
  return { text: `${account} by nobody${last}`, troubled };
}
