/** Accounts and collectors: who calls what, how much of each budget is used, and what changes hands. */
import type { AccountView, AccountsView } from "../../../archive/ask/accountsTypes.ts";
import type { TakeOver } from "../../../archive/ask/healthTypes.ts";
import type { CollectorRow } from "../../../archive/ledger/fleetTypes.ts";
import type { LiveAccount } from "../../api/types.ts";
import { Fact, Panel } from "../parts/facts.tsx";
import { UsedLine } from "../parts/budget.tsx";
import { Logins } from "../parts/logins.tsx";
import { Await, Empty, ProblemNote } from "../parts/notes.tsx";
import { Table, type TableColumn } from "../parts/table.tsx";
import { HOW, isFresh, TakeOvers } from "../parts/takeOvers.tsx";
import { bytes, thousands } from "../../../figures.ts";
import { span, dayAndTime } from "../lib/format.ts";
import { nowMs, tick } from "../lib/pageClock.ts";
import { href } from "../lib/router.ts";
import { now } from "../lib/store.ts";
import { useApi } from "../lib/useApi.ts";

/** How often the page asks: leases are renewed every 2 s. */
const asks = tick(2_000);

/** A collector that tells nothing of itself for so long has missed three rounds, ms: its accounts go to others soon. */
const SILENT_MS = 6_000;

export function AccountsPage() {
  const loaded = useApi<AccountsView>("/api/accounts", {}, asks.value);
  return (
    <div>
      <div class="bar">
        <h1 tabIndex={-1}>Accounts</h1>
      </div>
      <Logins />
      <Await loaded={loaded} what="the accounts">
        {({ accounts, collectors, takeOvers }) => (
          <>
            {accounts.length === 0 ? (
              <Empty title="No account has made a call yet">
                They stand here as soon as a collector has told of them.
              </Empty>
            ) : (
              <ul class="budgets" aria-label="Accounts">
                {accounts.map((account) => (
                  <Account key={account.name} account={account} takeOvers={takeOvers} />
                ))}
              </ul>
            )}
            <div class="panels">
              <Panel id="collectors" title="Collectors" kind="half">
                {collectors.length === 0 ? (
                  <Empty title="None has told of itself">
                    A collector does so every two seconds while it runs.
                  </Empty>
                ) : (
                  <ul class="collectors">
                    {collectors.map((collector) => (
                      <Collector key={collector.id} collector={collector} accounts={accounts} />
                    ))}
                  </ul>
                )}
              </Panel>
              <Panel id="taken" title={TAKE_OVERS} kind="half">
                <TakeOvers rows={takeOvers} />
              </Panel>
            </div>
          </>
        )}
      </Await>
      <p class="after dim">
        <code>quotekeeper accounts drain NAME</code> lets an account make no more calls, <code>resume</code>{" "}
        lets it take part again. Earlier takeovers: <a href={href("/health", { span: "4 weeks" })}>Health</a>.
      </p>
    </div>
  );
}

const TAKE_OVERS = (
  <>
    Takeovers <small>in the last week</small>
  </>
);

/** `taken` is how it came to its collector; undefined: so long ago that the list does not tell of it. */
function Account({ account, takeOvers: known }: { account: AccountView; takeOvers: readonly TakeOver[] }) {
  const taken = known.find((row) => row.account === account.name && row.fence === account.fence);
  const live = now.value?.live?.accounts.find(({ name }) => name === account.name) ?? null;
  const limit = live?.limit ?? account.limit ?? account.serviceLimit ?? 60;
  const used = live?.callsUsed ?? account.calls;
  const { name, state, owner, fence, renewedAgoMs, takeOvers, windowMs, serviceUsed, serviceLimit } = account;
  const label = `Calls of ${name} used in the last ${span(windowMs)}`;
  const fresh = owner !== null && taken && isFresh(taken) ? taken : null;
  const nobody = state === "active" && fence !== null && owner === null;
  const hands = nobody ? "none" : fresh ? "fresh" : undefined;
  return (
    <li class="panel marked" data-state={state} data-hands={hands} aria-label={name}>
      <h2>
        {name} <small>{stateWords(account, live)}</small>
      </h2>
      {hands !== undefined && (
        <p class="hands wraps" role="status">
          {fresh ? (
            <>
              <b>{fresh.collector}</b> took it {span(nowMs.value - Date.parse(fresh.at))} ago. Before:{" "}
              {fresh.previous ?? "another one"}, {HOW[fresh.how]}.
            </>
          ) : (
            <>
              <b>Nobody calls it.</b> Another collector takes it within 15 s, where one runs.
            </>
          )}
        </p>
      )}
      <UsedLine used={used} left={live?.secondClient ?? 0} limit={limit} label={label} />
      <dl class="facts wraps">
        <Fact name="Used" value={`${thousands(used)} of ${thousands(limit)} in ${span(windowMs)}`} />
        <Fact
          name="The service's own count"
          value={serviceUsed === null ? "not said" : `${serviceUsed} of ${serviceLimit ?? "–"}`}
        />
        {live && <Fact name="Second client" value={thousands(live.secondClient)} />}
        {live && <Fact name="Queue" value={thousands(live.queued)} />}
        {owner !== null || fence !== null ? (
          <>
            <Fact name="Called by" value={owner ?? "nobody"} />
            {owner !== null && (
              <Fact name="Since" value={taken ? dayAndTime(taken.at) : "more than a week"} />
            )}
            <Fact name="Times started or taken over" value={fence === null ? "–" : thousands(fence)} />
            <Fact
              name="Lease renewed"
              value={renewedAgoMs === null ? "never" : `${span(renewedAgoMs)} ago`}
            />
            <Fact name="Takeovers in a day" value={thousands(takeOvers)} />
          </>
        ) : (
          <Fact name="Called by" value={live ? "this process" : "no collector has a lease"} />
        )}
      </dl>
      {live?.problem && <ProblemNote problem={live.problem} />}
      <Shares account={account} />
    </li>
  );
}

function stateWords({ state, takesPart, owner, fence }: AccountView, live: LiveAccount | null): string {
  if (state !== "active") return state;
  if (live && live.phase !== "open") return `active, budget ${live.phase}`;
  if (fence !== null && owner === null) return "active, nobody calls it";
  return fence !== null && !takesPart ? "takes no part" : "active";
}

function Shares({ account: { shares, name } }: { account: AccountView }) {
  if (shares.length === 0) return <p class="after dim">No slot of a job in the last hour.</p>;
  return (
    <Table
      label={`Shares of ${name} in the last hour`}
      kind="job-shares after"
      columns={SHARE_COLUMNS}
      rows={shares}
      keyOf={({ job }) => job}
    />
  );
}

const SHARE_COLUMNS: readonly TableColumn<AccountView["shares"][number]>[] = [
  { name: "Job, last hour", kind: "text", show: ({ job }) => job },
  { name: "Slots", show: ({ slots }) => thousands(slots) },
  { name: "Due", show: ({ due }) => thousands(due) },
  { name: "Missed", show: ({ missed }) => thousands(missed) },
];

function Collector({ collector, accounts }: { collector: CollectorRow; accounts: readonly AccountView[] }) {
  const { name, version, state, seenAgoMs, journalLag, clockOffsetMs, filesDiffer } = collector;
  const silent = state === "running" && seenAgoMs > SILENT_MS;
  const owned = accounts.filter(({ owner }) => owner === name).map((account) => account.name);
  const notes = [
    `version ${version}`,
    `seen ${span(seenAgoMs)} ago`,
    ...(journalLag ? [`${bytes(journalLag)} of its journal not loaded`] : []),
    ...(clockOffsetMs === null ? [] : [`clock ${clockOffsetMs} ms from the database's`]),
    ...(filesDiffer ? ["its job files are others than those in force"] : []),
  ];
  return (
    <li class="marked" data-state={silent ? "gone" : state}>
      <b>{name}</b> <span class="state">{silent ? "not heard of" : state}</span>
      <p>{owned.length === 0 ? "calls no account" : `calls ${owned.join(", ")}`}</p>
      <p class="dim">{notes.join(", ")}</p>
    </li>
  );
}
