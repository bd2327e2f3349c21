/** Accounts and collectors, where there are several: who calls what, how much of each limit is used, and what changed hands. */
import type { AccountsView, AccountView } from "../../../archive/ask/accountsTypes.ts";
import type { CollectorRow } from "../../../archive/ledger/fleetTypes.ts";
import { bytes, NOTHING, thousands } from "../../../ground/figures.ts";
import { dayAndTime, span, ZONE_NAME } from "../lib/format.ts";
import { now } from "../lib/newest.ts";
import { Panel, UsedLine } from "./facts.tsx";
import { Table, type TableColumn } from "./rowTable.tsx";

/** A collector that tells nothing of itself for so long has missed three rounds, ms: its accounts go to others soon. */
const SILENT_MS = 6_000;

export function Fleet({ fleet: { accounts, collectors, takeOvers } }: { fleet: AccountsView }) {
  return (
    <div class="panels">
      {accounts.length > 1 && (
        <Panel id="accounts" kind="wide" title="Accounts">
          <Table
            label="Accounts"
            kind="stacks"
            columns={ACCOUNTS}
            rows={accounts}
            keyOf={({ name }) => name}
          />
          <p class="after dim">
            <code>quotekeeper accounts drain NAME</code> lets an account make no more calls,{" "}
            <code>resume</code> lets it take part again.
          </p>
        </Panel>
      )}
      {collectors.length > 1 && (
        <Panel id="collectors" kind="wide" title="Collectors">
          <Table
            label="Collectors"
            kind="stacks"
            columns={COLLECTORS}
            rows={collectors}
            keyOf={({ id }) => id}
          />
          {takeOvers.length > 0 && (
            <Table
              label="Accounts that changed hands in the last week"
              kind="stacks after"
              scroll="tall"
              columns={TAKE_OVERS}
              rows={takeOvers}
              keyOf={({ account, fence }) => `${account} ${fence}`}
            />
          )}
        </Panel>
      )}
    </div>
  );
}

const sumOf = (shares: AccountView["shares"], what: "missed" | "due"): number =>
  shares.reduce((sum, share) => sum + share[what], 0);

const liveOf = ({ name }: AccountView) =>
  now.value?.live?.accounts.find((each) => each.name === name) ?? null;

function stateOf(account: AccountView): string {
  const { state, owner, fence, takesPart } = account;
  const live = liveOf(account);
  if (state !== "active") return state;
  if (live?.phase === "closed") return `waits ${span(live.closedForMs)}: the service refused a call`;
  if (fence !== null && owner === null) return "nobody calls it";
  return fence !== null && !takesPart ? "takes no part" : "active";
}

const ACCOUNTS: readonly TableColumn<AccountView>[] = [
  { name: "Account", kind: "text", names: true, show: ({ name }) => name },
  { name: "State", kind: "text", show: stateOf },
  {
    name: "Called by",
    kind: "text",
    show: (account) => account.owner ?? (liveOf(account) ? "this process" : "nobody"),
  },
  {
    name: "Calls",
    show: (account) => {
      const live = liveOf(account);
      const limit = live?.limit ?? account.limit ?? account.serviceLimit ?? 60;
      const used = live?.callsUsed ?? account.calls;
      return (
        <>
          {thousands(used)} of {thousands(limit)} in {span(account.windowMs)}
          <UsedLine
            used={used}
            left={live?.secondClient ?? 0}
            limit={limit}
            label={`Calls of ${account.name}`}
          />
        </>
      );
    },
  },
  {
    name: "Missed in the last hour",
    show: ({ shares }) => {
      const [missed, due] = [sumOf(shares, "missed"), sumOf(shares, "due")];
      return due === 0 ? NOTHING : `${thousands(missed)} of ${thousands(due)}`;
    },
  },
];

const COLLECTORS: readonly TableColumn<CollectorRow>[] = [
  { name: "Collector", kind: "text", names: true, show: ({ name }) => name },
  {
    name: "State",
    kind: "text",
    show: ({ state, seenAgoMs }) => (state === "running" && seenAgoMs > SILENT_MS ? "not heard of" : state),
  },
  { name: "Seen", show: ({ seenAgoMs }) => `${span(seenAgoMs)} ago` },
  { name: "Version", kind: "text", show: ({ version }) => version },
  { name: "Not loaded yet", show: ({ journalLag }) => (journalLag ? bytes(Number(journalLag)) : "") },
  {
    name: "Notes",
    kind: "text",
    look: "dim",
    show: ({ filesDiffer, clockOffsetMs }) =>
      [
        filesDiffer && "its job files are others than those in force",
        clockOffsetMs !== null &&
          Math.abs(clockOffsetMs) >= 100 &&
          `its clock is ${clockOffsetMs} ms from the database's`,
      ]
        .filter((text) => text !== false)
        .join(", "),
  },
];

const HOW = { new: "it was free", released: "it was given back", expired: "not heard of any more" } as const;

const TAKE_OVERS: readonly TableColumn<AccountsView["takeOvers"][number]>[] = [
  { name: "Time", heading: `Time (${ZONE_NAME})`, kind: "text", show: ({ at }) => dayAndTime(at) },
  { name: "Account", kind: "text", show: ({ account }) => account },
  { name: "Now called by", kind: "text", show: ({ collector }) => collector },
  { name: "Before", kind: "text", look: "dim", show: ({ previous }) => previous },
  { name: "Why", kind: "text", show: ({ how }) => HOW[how] },
];
