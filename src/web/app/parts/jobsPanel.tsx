/** The jobs on Now: when each polls next, what that costs, and what is wrong with their files. */
import type { BrokenFile, JobAsk, JobsView, NowView, PlanView } from "../../api/types.ts";
import { chainsNotKnown, counted, thousands } from "../../../ground/figures.ts";
import { countdown, span } from "../lib/format.ts";
import { nowMs } from "../lib/pageClock.ts";
import { Panel } from "./facts.tsx";
import { Code, ProblemNote } from "./notes.tsx";

export function Jobs({ view }: { view: NowView }) {
  const { jobs: files } = view;
  if (files === null) return null;
  const { jobs, broken, problem } = files;
  return (
    <Panel id="jobs" kind="wide" title="Jobs">
      {problem && <ProblemNote problem={problem} />}
      {broken.map((file) => (
        <Broken key={file.file} file={file} />
      ))}
      <Fits files={files} simulated={view.feed.simulated} />
      <ul class="job-cards">
        {jobs.map((job) => (
          <JobCard key={job.name} job={job} view={view} />
        ))}
      </ul>
    </Panel>
  );
}

/** Whether the calls of the day fit. @param files whose plan is that of the files before while one of them is broken */
function Fits({ files: { plan, isOfFilesBefore }, simulated }: { files: JobsView; simulated: boolean }) {
  if (plan === null)
    return isOfFilesBefore ? (
      <p role="status">What the files cost is not known until they are right.</p>
    ) : null;
  const { tone, title } = verdictOf(plan);
  const hours = simulated
    ? " Planned for the exchange's hours; the simulated market is polled around the clock."
    : "";
  return (
    <p class="marked fits" data-tone={tone} role="status">
      {isOfFilesBefore && "What the files cost as they are is not known. The jobs before are polled: "}
      <b>{title}</b> {thousands(plan.mostAMinute)} of {thousands(plan.limit)} calls in {span(plan.windowMs)}{" "}
      at most on {plan.date}.{detailsOf(plan)}
      {hours}
    </p>
  );
}

function verdictOf(plan: PlanView): { tone: "alarm" | "calm" | "good"; title: string } {
  if (!plan.fits) return { tone: "alarm", title: "Over the limit:" };
  const unknown = chainsNotKnown(plan);
  if (unknown !== null) return { tone: "calm", title: `Not known: ${unknown}.` };
  if (plan.missedAtReach > 0) return { tone: "calm", title: "It hardly fits:" };
  return { tone: "good", title: "It fits:" };
}

function detailsOf({ fits, starving, fitsEveryMs, missedAtReach, priceless, unlisted }: PlanView): string {
  const parts = [
    !fits &&
      `${starving.join(", ")} would miss quotes${fitsEveryMs === null ? ", even with a poll an hour" : `; a poll every ${span(fitsEveryMs)} would fit`}.`,
    missedAtReach > 0 &&
      `About ${counted(missedAtReach, "quote")} would be missed: leave a call or two free.`,
    priceless.length > 0 && `Not counted: the chains of ${priceless.join(", ")}, which have no price yet.`,
    unlisted.length > 0 &&
      `Not counted: the chains of ${unlisted.join(", ")}, whose contracts are not known yet.`,
  ].filter((text) => text !== false);
  return parts.map((text) => ` ${text}`).join("");
}

function JobCard({ job, view: { live, jobs, collects } }: { job: JobAsk; view: NowView }) {
  const { name, file, words, timezone, session, asks } = job;
  const running = live?.jobs.find((each) => each.name === name);
  const cost = jobs?.plan?.jobs.find((each) => each.job === name);
  const next = running?.nextAt;
  return (
    <li class="box" aria-label={name}>
      <h3>
        {name} <small class="dim">{file}</small>
      </h3>
      <p>
        {next ? (
          <>
            next poll in <b class="mono">{countdown(Date.parse(next) - nowMs.value)}</b>
          </>
        ) : running ? (
          "no poll ahead"
        ) : collects ? (
          "the collector is starting"
        ) : (
          "polled by a collector elsewhere"
        )}
        {cost && `, ${counted(cost.calls, "call")}`}
      </p>
      <p class="dim">
        {words} ({timezone}), {session === "always" ? "at any hour" : `session ${session}`}
      </p>
      {asks.map((text) => (
        <p key={text} class="dim wraps">
          {text}
        </p>
      ))}
      {cost && cost.starved > 0 && (
        <p class="alarm">
          {thousands(cost.starved)} of {counted(cost.due, "quote")} of a day would be missed.
        </p>
      )}
    </li>
  );
}

function Broken({ file: { file, problems, lines } }: { file: BrokenFile }) {
  const at = new Set(problems.map(({ line }) => line));
  const shown = lines.length > 0 ? lines : [...at].map((line) => ({ line, text: "" }));
  return (
    <section class="broken marked" data-tone="alarm" aria-label={`Mistakes of ${file}`}>
      <p role="alert">
        <b>{file}</b> has {counted(problems.length, "mistake")}. A collector that runs goes on with the jobs
        it had.
      </p>
      <ol class="source box mono" tabIndex={0} aria-label={`Text of ${file}`}>
        {shown.map(({ line, text }) => (
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
    </section>
  );
}
