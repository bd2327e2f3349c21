/** Now: whether all is well, what is collected, what it costs, what comes next, and what is missing. Red only when a person is needed. */
import type { LiveBudget, NowView, StatusLine } from "../../api/types.ts";
import { counted, price, thousands } from "../../../ground/figures.ts";
import { age, exchangeMoment, MINUTE_MS, span } from "../lib/format.ts";
import { nowMs } from "../lib/pageClock.ts";
import { chartOf, href } from "../lib/router.ts";
import { isOld, now, trouble } from "../lib/newest.ts";
import { Panel, UsedLine } from "../parts/facts.tsx";
import { Fleet } from "../parts/fleetPanels.tsx";
import { Jobs } from "../parts/jobsPanel.tsx";
import { Logins } from "../parts/logins.tsx";
import { Code, Loading, ProblemNote, SourceTag } from "../parts/notes.tsx";
import { boxId, boxOf, lineId, Verdict } from "../parts/verdict.tsx";
import { MissedFor } from "../parts/heatMap.tsx";

export function NowPage() {
  const view = now.value;
  return (
    <div>
      <h1 tabIndex={-1} class="unseen">
        Now
      </h1>
      {view === null ? !trouble.value && <Loading what="the state" /> : <Panels view={view} />}
    </div>
  );
}

/** Lines of `status` that are always shown; others while they need a person. */
const ALWAYS = ["journal", "database", "collector", "collectors"];

function Panels({ view }: { view: NowView }) {
  const { live, status } = view;
  const problems = live?.problems ?? [];
  const attended = status?.lines.filter(({ state }) => state === "attention") ?? [];
  const lines = status?.lines.filter(
    (line) => ALWAYS.includes(line.subject) || (line.state === "attention" && !boxOf(line, problems)),
  );
  return (
    <>
      <Verdict view={view} />
      {problems.map(({ accounts, ...problem }) => {
        const person = problem.person || attended.some((line) => boxOf(line, [{ ...problem, accounts }]));
        const id = boxId({ ...problem, accounts });
        return <ProblemNote key={id} id={id} problem={{ ...problem, person }} accounts={accounts} />;
      })}
      <Logins />
      <div class="panels">
        <Collected view={view} />
        <Calls view={view} />
        <Jobs view={view} />
        <Missed view={view} />
        <Lines lines={lines ?? []} view={view} />
      </div>
      {view.fleet && <Fleet fleet={view.fleet} />}
    </>
  );
}

function Collected({ view: { quotes } }: { view: NowView }) {
  if (quotes === null) return null;
  const more = quotes.instruments - quotes.quotes.length;
  return (
    <Panel id="collected" kind="most" title="Newest quotes">
      {quotes.quotes.length === 0 ? (
        <p class="dim">The first ones arrive within seconds of a job's first poll.</p>
      ) : (
        <ul class="glance mono">
          {quotes.quotes.map((row) => (
            <li key={`${row.instrument} ${row.sourceId}`}>
              <a href={chartOf(row.instrument, row)}>{row.instrument}</a>
              <b>{price(row.last ?? row.bid)}</b>
              <small class="dim">{age(row.observedAt, nowMs.value)}</small>
              {row.delayed && <SourceTag source="account" name="delayed" />}
            </li>
          ))}
        </ul>
      )}
      {more > 0 && (
        <p class="after">
          <a href={href("quotes")}>and {thousands(more)} more</a>
        </p>
      )}
    </Panel>
  );
}

const windowOf = (windowMs: number): string => (windowMs === MINUTE_MS ? "minute" : span(windowMs));

function Calls({ view: { live, status } }: { view: NowView }) {
  const budget = status?.budget ?? null;
  if (live === null) {
    if (budget === null) return null;
    return (
      <Panel id="calls" title="Calls">
        <p>
          {counted(budget.calls, "answer")} in the last {windowOf(budget.windowMs)}; the limit is{" "}
          {thousands(budget.limit)}.
        </p>
      </Panel>
    );
  }
  const { callsUsed, limit, secondClient, windowMs } = live;
  return (
    <Panel id="calls" title={`Calls of the last ${windowOf(windowMs)}`}>
      <p class="calls">
        <b class="mono" data-testid="calls-used">
          {thousands(callsUsed)}
        </b>{" "}
        of {thousands(limit)}
      </p>
      <UsedLine used={callsUsed} left={secondClient} limit={limit} label="Calls used" />
      <BudgetNotes budget={live} serviceUsed={budget?.serviceUsed ?? null} />
    </Panel>
  );
}

function BudgetNotes({ budget, serviceUsed }: { budget: LiveBudget; serviceUsed: number | null }) {
  const { callsUsed, queued, secondClient, windowMs, limit, limitSet } = budget;
  const notes = [
    queued > 0 && `${counted(queued, "call")} ${queued === 1 ? "waits" : "wait"}.`,
    limit < limitSet &&
      `The service allows ${thousands(limit)}, and the setting says ${thousands(limitSet)}.`,
    secondClient > 0 &&
      `Another program makes about ${counted(secondClient, "call")} a ${windowOf(windowMs)} on this account.`,
    serviceUsed !== null &&
      serviceUsed !== callsUsed &&
      `The service counts ${thousands(serviceUsed)}, in a window of its own.`,
  ].filter((text) => text !== false);
  return notes.length === 0 ? null : <p class="after dim">{notes.join(" ")}</p>;
}

function Missed({ view: { status } }: { view: NowView }) {
  const lastDay = status?.lastDay;
  if (!lastDay || lastDay.missed.length === 0) return null;
  return (
    <Panel id="missed" kind="wide" title="Missing in the last 24 hours">
      <ul class="missed">
        {lastDay.missed.map(({ reason, count, lastAt, goesOn }) => (
          <MissedFor key={reason} passed={!goesOn} reason={reason} count={count}>
            {goesOn ? "going on, " : ""}last at {exchangeMoment(lastAt)}
          </MissedFor>
        ))}
      </ul>
      <p class="after dim">
        of {counted(lastDay.due, "quote")} that were due. <a href={href("coverage")}>Coverage</a> shows of
        which instruments.
      </p>
    </Panel>
  );
}

const STATES = { ok: "well", idle: "nothing to do", attention: "needs a person", was: "was well" };

function Lines({ lines, view: { live } }: { lines: readonly StatusLine[]; view: NowView }) {
  if (lines.length === 0) return null;
  return (
    <Panel id="lines" kind="wide" title="Collector, database and journal">
      <ul class="lines">
        {lines.map((line) => {
          const state = line.state === "ok" && isOld.value ? "was" : line.state;
          const box = boxOf(line, live?.problems ?? []);
          return (
            <li key={line.subject} data-state={state} id={lineId(line)} tabIndex={-1}>
              <i role="img" aria-label={STATES[state]} />
              <b>{line.subject}</b>
              <span class={`wraps ${state === "attention" ? "" : "dim"}`}>
                {box ? (
                  <>
                    see <a href={`#${boxId(box)}`}>{box.code}</a> above
                  </>
                ) : (
                  <Code text={line.text} />
                )}
              </span>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
