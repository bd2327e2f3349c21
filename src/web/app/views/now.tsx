/** Now: the budget, what comes next, and what is wrong. Red only when a person is needed. */
import { useEffect } from "preact/hooks";
import type { LiveAccount, NowView, StatusLine, StatusView } from "../../api/types.ts";
import { Minutes, Gauge, UsedLine } from "../parts/budget.tsx";
import { Empty, Loading, ProblemNote } from "../parts/notes.tsx";
import { Panel, Fact, Line } from "../parts/facts.tsx";
import { MissedFor } from "../parts/why.tsx";
import { nowMs } from "../lib/pageClock.ts";
import { bytes, counted, thousands } from "../../../figures.ts";
import { age, countdown, exchangeMoment, span } from "../lib/format.ts";
import { now, trouble } from "../lib/store.ts";
import { boxId, lineId, boxOf, Verdict } from "../parts/verdict.tsx";

export function NowPage() {
  const view = now.value;
  useEffect(() => {
    // Lets the tests measure how long the first figures took.
    if (view !== null) requestAnimationFrame(() => performance.mark("first-useful-paint"));
  }, [view !== null]);
  return (
    <div>
      <h1 tabIndex={-1} class="unseen">
        Now
      </h1>
      {view === null ? !trouble.value && <Loading what="the state" /> : <Panels view={view} />}
    </div>
  );
}

function Panels({ view }: { view: NowView }) {
  const { live, status } = view;
  const problems = live?.problems ?? [];
  const attended = status?.lines.filter(({ state }) => state === "attention") ?? [];
  return (
    <>
      <Verdict view={view} />
      {problems.map(({ accounts, ...problem }) => {
        const person = problem.person || attended.some((line) => boxOf(line, [{ ...problem, accounts }]));
        const id = boxId({ ...problem, accounts });
        return <ProblemNote key={id} id={id} problem={{ ...problem, person }} accounts={accounts} />;
      })}
      <div class="panels">
        <Budget view={view} />
        <NextPolls view={view} />
        <Keeping view={view} />
        <Calls view={view} />
        <Missed view={view} />
        <Accounts accounts={live?.accounts ?? []} />
        <Collectors status={view.status} />
        <Health view={view} />
      </div>
    </>
  );
}

function Budget({ view: { live, collects, status } }: { view: NowView }) {
  const budget = status?.budget ?? null;
  const serviceUsed = budget?.serviceUsed ?? null;
  if (live === null)
    return (
      <Panel id="budget" kind="budget" title="Budget">
        <Empty title={collects ? STARTING : "No collector runs in this process"}>
          {!collects && "This is the dashboard alone, over the archive."}
          {budget && ` Answers in ${lastWindow(budget.windowMs)}: ${thousands(budget.calls)}`}
          {budget && (serviceUsed === null ? "." : `; the service counts ${counted(serviceUsed, "call")}.`)}
        </Empty>
      </Panel>
    );
  const { callsUsed, limit, limitSet, secondClient, windowMs, queued, phase } = live;
  const window = lastWindow(windowMs);
  return (
    <Panel id="budget" kind="budget" title={`Budget, ${window}`}>
      <Gauge used={callsUsed} left={secondClient} limit={limit} label={`Calls used in ${window}`} />
      <dl class="facts wraps">
        <Fact name="Ours" value={callsUsed} swatch="us" />
        <Fact name="Second client" value={secondClient} swatch="them" />
        <Fact name="Queue" value={queued} />
        <Fact name="Governor" value={phase} />
        {limit !== limitSet && <Fact name="Limit that is set" value={limitSet} />}
        {serviceUsed !== null && <Fact name="Service counts" value={serviceUsed} />}
      </dl>
      {budget && serviceUsed !== null && serviceUsed < budget.calls && (
        <p class="after dim">The service counts in a window of its own, which may have begun later.</p>
      )}
      {secondClient > 0 && (
        <p>
          Another program uses about {counted(secondClient, "call")}{" "}
          {windowMs === 60_000 ? "a minute" : `in ${span(windowMs)}`} on{" "}
          {live.accounts.length > 1 ? "these accounts" : "this account"}.
        </p>
      )}
    </Panel>
  );
}

const STARTING = "The collector is starting";

const lastWindow = (windowMs: number): string =>
  `the last ${windowMs === 60_000 ? "minute" : span(windowMs)}`;

function Accounts({ accounts }: { accounts: readonly LiveAccount[] }) {
  if (accounts.length < 2) return null;
  return (
    <Panel id="accounts" kind="health" title="Accounts">
      <ul class="accounts">
        {accounts.map((account) => (
          <AccountRow key={account.name} account={account} />
        ))}
      </ul>
    </Panel>
  );
}

function AccountRow({ account }: { account: LiveAccount }) {
  const { name, state, callsUsed, limit, limitSet, secondClient, windowMs } = account;
  const { queued, phase, closedForMs, problem } = account;
  const label = `Calls of ${name} used in ${lastWindow(windowMs)}`;
  return (
    <li class="marked" data-state={state === "active" ? phase : state}>
      <b>{name}</b>
      <span>{state}</span>
      <UsedLine used={callsUsed} left={secondClient} limit={limit} label={label} />
      <dl class="row wraps">
        <Fact name="Used" value={`${callsUsed} of ${limit}`} />
        {limit !== limitSet && <Fact name="Limit that is set" value={limitSet} />}
        <Fact name="Queue" value={queued} />
        <Fact name="Second client" value={secondClient} />
        <Fact name="Governor" value={phase} />
        {phase === "closed" && <Fact name="Closed for" value={span(closedForMs)} />}
      </dl>
      {problem && (
        <p class="wraps">
          <code>{problem.code}</code> {problem.detail}
        </p>
      )}
    </li>
  );
}

/** Who calls each account, where there are several collectors, and what is wrong with these. */
function Collectors({ status }: { status: StatusView | null }) {
  if (!status) return null;
  const { fleet, unsureSince, uncalled } = status;
  if (!fleet && !unsureSince && Object.keys(uncalled).length === 0) return null;
  const wrong = (subject: string, text: string): StatusLine => ({ subject, text, state: "attention" });
  const lines: StatusLine[] = [
    ...(unsureSince
      ? [
          wrong(
            "this machine",
            `does not know since ${exchangeMoment(unsureSince)} whether its accounts are its own`,
          ),
        ]
      : []),
    ...Object.entries(uncalled).map(([account, since]) =>
      wrong(account, `nobody calls it since ${exchangeMoment(since)}`),
    ),
    ...(fleet?.gone ?? []).map(({ name, seenAgoMs }) => wrong(name, `was not seen for ${span(seenAgoMs)}`)),
    ...(fleet?.owners ?? []).map(({ account, owner }): StatusLine => ({
      subject: account,
      text: owner ?? "nobody",
      state: owner === null ? "idle" : "ok",
    })),
  ];
  return (
    <Panel id="collectors" kind="health" title="Collectors">
      <ul class="lines">
        {lines.map((line) => (
          <Line key={`${line.state} ${line.subject}`} line={line} />
        ))}
      </ul>
    </Panel>
  );
}

function NextPolls({ view: { live, collects } }: { view: NowView }) {
  return (
    <Panel id="next" title="Next polls">
      {live === null ? (
        <Empty title={collects ? STARTING : "Not known here"}>
          {!collects && "Only the process that collects knows its jobs."}
        </Empty>
      ) : (
        <ol class="jobs">
          {[...live.jobs]
            .sort((a, b) => (a.nextAt ?? "9").localeCompare(b.nextAt ?? "9") || b.priority - a.priority)
            .map(({ name, schedule, session, nextAt }) => (
              <li key={name}>
                <b class="job-name">{name}</b>
                <code class="dim">{schedule}</code>
                <small class="dim">{session}</small>
                <span class="count">
                  {nextAt ? countdown(Date.parse(nextAt) - nowMs.value) : "none ahead"}
                </span>
              </li>
            ))}
        </ol>
      )}
    </Panel>
  );
}

function Keeping({ view: { status, journal, live } }: { view: NowView }) {
  const lag = status?.lag;
  const waiting = lag?.oldestAt ? age(lag.oldestAt, nowMs.value) : null;
  return (
    <Panel id="keeping" title="Keeping">
      <dl class="facts wraps">
        <Fact
          name="Loader lag"
          value={waiting ? `${waiting}, ${bytes(lag?.bytes ?? 0)}` : lag ? "none" : "not known"}
        />
        <Fact
          name="Journal"
          value={
            journal
              ? `${bytes(journal.bytes)} in ${counted(journal.segments, "segment")}`
              : "none on this machine"
          }
        />
        <Fact name="Database" value={status?.tier ?? "not known"} />
        {live && <Fact name="Rows stored since the start" value={live.quotesStored} />}
        {live && <Fact name="Missed since the start" value={live.missed} />}
      </dl>
    </Panel>
  );
}

/** A limit as calls of a minute, whatever its window is. */
function perMinute(budget: { limit: number; windowMs: number } | null | undefined): number {
  return budget ? Math.round((budget.limit * 60_000) / budget.windowMs) : 60;
}

function Calls({ view: { minutes, status, live } }: { view: NowView }) {
  return (
    <Panel id="calls" kind="half" title="Answers by the minute">
      {minutes ? (
        <Minutes minutes={minutes} limit={perMinute(live ?? status?.budget)} nowMs={nowMs.value} />
      ) : (
        <Empty title="Nothing can be read from the archive" />
      )}
    </Panel>
  );
}

function Missed({ view: { status } }: { view: NowView }) {
  const lastDay = status?.lastDay ?? null;
  return (
    <Panel id="missed" kind="half" title="Missed in the last day">
      {lastDay === null || lastDay.missed.length === 0 ? (
        <Empty title={lastDay ? "Nothing" : "Not known"}>
          {lastDay ? `Due: ${counted(lastDay.due, "quote")}. None is missing.` : ""}
        </Empty>
      ) : (
        <ul class="missed">
          {lastDay.missed.map(({ reason, count, lastAt, goesOn }) => (
            <MissedFor key={reason} passed={!goesOn} reason={reason} count={count}>
              {goesOn ? "going on, " : ""}last at {exchangeMoment(lastAt)}
            </MissedFor>
          ))}
        </ul>
      )}
    </Panel>
  );
}

const HEALTH = (
  <>
    Health{" "}
    <small>
      as <code>quotekeeper status</code> tells it
    </small>
  </>
);

function Health({ view: { status, live } }: { view: NowView }) {
  return (
    <Panel id="health" kind="health" title={HEALTH}>
      {status === null ? (
        <Empty title="Not known at the moment" />
      ) : (
        <ul class="lines">
          {status.lines.map((line) => (
            <Line key={line.subject} line={line} box={boxOf(line, live?.problems ?? [])} id={lineId(line)} />
          ))}
        </ul>
      )}
    </Panel>
  );
}
