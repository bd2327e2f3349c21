/** The jobs: what each asks for, what the plan says of them, and what is wrong with their files. Read only. */
import type { BrokenFile, JobAsk, JobsView, PlanView } from "../../api/types.ts";
import { Columns } from "../parts/columns.tsx";
import { Fact, Panel } from "../parts/facts.tsx";
import { VerdictBox } from "../parts/verdict.tsx";
import { Await, Code, Empty, ProblemNote } from "../parts/notes.tsx";
import { chainsNotKnown, counted, thousands, percent } from "../../../figures.ts";
import { exchangeMoment, MINUTE_MS, span } from "../lib/format.ts";
import { tick } from "../lib/pageClock.ts";
import { now } from "../lib/store.ts";
import { useApi } from "../lib/useApi.ts";

/** How often the page looks whether the files have changed. */
const looks = tick(5_000);

export function JobsPage() {
  const loaded = useApi<JobsView>("/api/jobs", {}, looks.value);
  return (
    <div>
      <div class="bar">
        <h1 tabIndex={-1}>Jobs</h1>
        {loaded.data && <span class="dim">{loaded.data.dir}</span>}
      </div>
      <Await loaded={loaded} what="the jobs">
        {(view) => <Files view={view} />}
      </Await>
      <p class="after dim">
        Jobs are changed in their files, with any editor: a collector takes a change up within seconds, and{" "}
        <code>quotekeeper jobs check</code> finds every mistake.
      </p>
    </div>
  );
}

function Files({ view: { jobs, broken, isOfFilesBefore, plan, problem } }: { view: JobsView }) {
  return (
    <>
      {problem && <ProblemNote problem={problem} />}
      {broken.map((file) => (
        <Broken key={file.file} file={file} />
      ))}
      {isOfFilesBefore && (
        <VerdictBox tone="calm" title="Not known">
          What the files cost as they are.{" "}
          {plan
            ? "The plan below is that of the files before, with which a collector goes on."
            : "They are planned once they are right."}
        </VerdictBox>
      )}
      {plan && !isOfFilesBefore && <Verdict plan={plan} />}
      {plan && (
        <div class="panels">
          <Minutes plan={plan} />
          <Fullest plan={plan} />
          <Starving plan={plan} />
        </div>
      )}
      {jobs.length > 0 && (
        <ul class="asks" aria-label="Jobs">
          {jobs.map((job) => (
            <Ask key={job.name} job={job} plan={plan} />
          ))}
        </ul>
      )}
    </>
  );
}

function Broken({ file: { file, problems, lines } }: { file: BrokenFile }) {
  const at = new Set(problems.map(({ line }) => line));
  return (
    <section class="panel broken marked" aria-label={`Mistakes of ${file}`}>
      <h2>{file}</h2>
      <p role="alert">
        {counted(problems.length, "mistake")}. A collector that runs goes on with the jobs it had.
      </p>
      {lines.length === 0 ? (
        <ul>
          {problems.map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              <b>line {line}</b> <Code text={message} />
            </li>
          ))}
        </ul>
      ) : (
        <ol class="source box mono" tabIndex={0} aria-label={`Text of ${file}`}>
          {lines.map(({ line, text }) => (
            <li key={line} value={line} data-wrong={at.has(line) ? "" : undefined}>
              <code>{text || " "}</code>
              {problems
                .filter((problem) => problem.line === line)
                .map(({ message }) => (
                  <p key={message} class="mistake wraps">
                    <Code text={message} />
                  </p>
                ))}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Verdict({
  plan: {
    date,
    fits,
    missedAtReach,
    starving,
    fitsEveryMs,
    mostAMinute,
    limit,
    windowMs,
    priceless,
    unlisted,
  },
}: {
  plan: PlanView;
}) {
  const unknown = fits ? chainsNotKnown({ priceless, unlisted }) : null;
  const tone = !fits ? "alarm" : missedAtReach > 0 || unknown !== null ? "calm" : undefined;
  return (
    <VerdictBox
      tone={tone}
      title={
        !fits
          ? "Over budget"
          : unknown !== null
            ? `Not known: ${unknown}`
            : missedAtReach > 0
              ? "It fits on paper alone"
              : "It fits"
      }
    >
      {date}: the fullest minute makes {counted(mostAMinute, "call")}, the limit is {thousands(limit)} in{" "}
      {span(windowMs)}.{" "}
      {!fits &&
        `${starving.join(", ")} would starve${fitsEveryMs === null ? ", even with a slot an hour" : `; a slot every ${span(fitsEveryMs)} would fit`}. `}
      {missedAtReach > 0 &&
        `About ${counted(missedAtReach, "quote")} would be missed over the day: leave a call or two free. `}
      {priceless.length > 0 &&
        `Not counted: the chains of ${priceless.join(", ")}, of which the archive has no price yet. `}
      {unlisted.length > 0 &&
        `Not counted: the chains of ${unlisted.join(", ")}, of which the archive knows no contract yet. `}
      {now.value?.feed.simulated &&
        "The simulated market never closes; the plan is that of the exchange's hours."}
    </VerdictBox>
  );
}

function Minutes({ plan: { minutes, date, limit, windowMs } }: { plan: PlanView }) {
  const [first, last] = [minutes[0], minutes.at(-1)];
  const aMinute = Math.round((limit * MINUTE_MS) / windowMs);
  return (
    <Panel id="by-minute" kind="wide" title={`Calls by the minute, ${date}`}>
      {!first || !last ? (
        <Empty title="No job is due on that day" />
      ) : (
        <Columns
          label={`Calls of each minute from ${exchangeMoment(first.at)} to ${exchangeMoment(last.at)}, at most ${Math.max(...minutes.map(({ calls }) => calls))}; the limit is ${aMinute}`}
          columns={minutes.map(({ at, calls }) => ({
            at,
            parts: [
              { tone: "quotes", value: Math.min(calls, aMinute) },
              { tone: "quota_fault", value: calls - Math.min(calls, aMinute) },
            ],
            title: `${exchangeMoment(at)}: ${counted(calls, "call")}`,
          }))}
          span={{
            from: first.at,
            to: new Date(Date.parse(last.at) + MINUTE_MS).toISOString(),
            widthMs: MINUTE_MS,
          }}
          limit={aMinute}
        />
      )}
    </Panel>
  );
}

function Fullest({ plan: { batches, callsPerPass, passMs, accounts } }: { plan: PlanView }) {
  return (
    <Panel id="fullest" kind="half" title="The fullest slot, the most urgent first">
      <p>
        {counted(callsPerPass, "call")}, sent over {span(passMs)}.
        {accounts.length > 1 &&
          ` By account: ${accounts.map(({ name, callsPerPass: calls, limit }) => `${name} ${calls} of ${limit}`).join(", ")}.`}
      </p>
      <ol class="batches mono" tabIndex={0} aria-label="Calls of the fullest slot">
        {batches.map((batch, place) => (
          <li key={`${place} ${batch}`}>{batch}</li>
        ))}
        {callsPerPass > batches.length && accounts.length === 1 && (
          <li class="dim">and {thousands(callsPerPass - batches.length)} more</li>
        )}
      </ol>
    </Panel>
  );
}

function Starving({ plan: { jobs, hungriest } }: { plan: PlanView }) {
  const starved = jobs.filter((job) => job.starved > 0);
  return (
    <Panel id="starving" kind="half" title="Who starves">
      {starved.length === 0 ? (
        <Empty title="Nobody">
          Every instrument that is counted is asked for in time at each slot of the day.
        </Empty>
      ) : (
        <>
          <ul>
            {starved.map((job) => (
              <li key={job.job}>
                <b>{job.job}</b> {thousands(job.starved)} of {counted(job.due, "quote")} of the day (
                {percent((100 * job.starved) / job.due, 1)})
              </li>
            ))}
          </ul>
          <p class="after dim">The instruments that miss the most slots:</p>
          <ol class="batches mono" tabIndex={0} aria-label="Instruments that starve">
            {hungriest.map(({ instrument, slots }) => (
              <li key={instrument}>
                {instrument} <span class="dim">{counted(slots, "slot")}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </Panel>
  );
}

function Ask({ job, plan }: { job: JobAsk; plan: PlanView | null }) {
  const cost = plan?.jobs.find((one) => one.job === job.name);
  const more = plan?.oneMore.find((one) => one.job === job.name);
  const next = now.value?.live?.jobs.find(({ name }) => name === job.name)?.nextAt;
  return (
    <li class="panel" aria-label={job.name}>
      <h2>
        {job.name} <small>{job.file}</small>
      </h2>
      <dl class="facts wraps">
        <Fact name="Schedule" value={`${job.words} (${job.timezone})`} />
        <Fact name="Cron" value={job.schedule} />
        <Fact name="Session" value={job.session} />
        <Fact name="Priority" value={String(job.priority)} />
        <Fact name="Account" value={job.account ?? "any"} />
        {job.delayed && <Fact name="Quotes" value="delayed" />}
        {next && <Fact name="Next poll" value={exchangeMoment(next)} />}
        {cost && <Fact name="That day" value={counted(cost.slots, "poll")} />}
        {cost && <Fact name="The fullest one" value={counted(cost.instruments, "instrument")} />}
      </dl>
      <AskedFor job={job} />
      {plan && more && (
        <p class="after dim">
          {more.mostAMinute > plan.mostAMinute
            ? `One more symbol costs ${counted(more.mostAMinute - plan.mostAMinute, "call")}`
            : "One more symbol costs no extra call"}{" "}
          ({thousands(more.mostAMinute)} in the fullest minute).
        </p>
      )}
    </li>
  );
}

function AskedFor({ job }: { job: JobAsk }) {
  const { symbols, symbolCount, symbolsFile, watchlist, options, optionCount, chains } = job;
  const more = (count: number, shown: readonly string[]): string =>
    count > shown.length ? ` and ${thousands(count - shown.length)} more` : "";
  return (
    <div class="asked wraps after" tabIndex={0} role="region" aria-label={`What ${job.name} asks for`}>
      {symbolCount > 0 && (
        <p>
          <b>{counted(symbolCount, "symbol")}</b>
          {symbolsFile && ` of ${symbolsFile}`}: {symbols.join(", ")}
          {more(symbolCount, symbols)}
        </p>
      )}
      {watchlist !== null && (
        <p>
          <b>Watchlist</b> {watchlist}
        </p>
      )}
      {optionCount > 0 && (
        <p>
          <b>{counted(optionCount, "contract")}</b>: {options.join(", ")}
          {more(optionCount, options)}
        </p>
      )}
      {chains.map((chain) => (
        <p key={chain}>
          <b>Chain</b> {chain}
        </p>
      ))}
    </div>
  );
}
