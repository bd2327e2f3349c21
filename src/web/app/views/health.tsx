/** Health over weeks: answers, misses by reason, lateness, take-overs; and from a hole to its slots and answers. */
import type { HealthView } from "../../../archive/ask/healthTypes.ts";
import type { ComponentChildren } from "preact";
import { Fact, Panel } from "../parts/facts.tsx";
import { Columns, ToneLegend } from "../parts/columns.tsx";
import { DateField, Segments } from "../parts/controls.tsx";
import { Holes } from "../parts/holes.tsx";
import { Await, Empty } from "../parts/notes.tsx";
import { TakeOvers } from "../parts/takeOvers.tsx";
import { callColumns, type Column, columnName, lateColumns, missColumns } from "../lib/healthColumns.ts";
import { late, ZONE_NAME } from "../lib/format.ts";
import { columnEnd, exchangeField, HEALTH_SPANS, healthRange, instantOfField } from "../lib/healthRange.ts";
import { counted, thousands, NOTHING, percent } from "../../../figures.ts";
import { nowMs } from "../lib/pageClock.ts";
import { parameter, setParameters } from "../lib/router.ts";
import { useApi } from "../lib/useApi.ts";

const WIDTHS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** What goes with the range: another range has other holes. */
const NOTHING_CHOSEN = { column: "", reason: "", job: "", slot: "" };

export function HealthPage() {
  const address = { from: parameter("from"), to: parameter("to"), span: parameter("span") };
  const { from, to, preset } = healthRange(address, nowMs.value);
  const source = parameter("source");
  const loaded = useApi<HealthView>("/api/health", { from, to, ...(source && { source }) });
  return (
    <div>
      <div class="bar">
        <h1 tabIndex={-1}>Health</h1>
        <Segments
          label="Span"
          names={HEALTH_SPANS}
          chosen={preset}
          choose={(span) => setParameters({ ...NOTHING_CHOSEN, span, from: "", to: "" })}
        />
        <Range from={from} to={to} />
        {(loaded.data?.sources.length ?? 0) > 1 && (
          <Segments
            label="Market"
            names={(loaded.data?.sources ?? []).map((name) => ({ name }))}
            chosen={loaded.data?.source}
            choose={(name) => setParameters({ ...NOTHING_CHOSEN, source: name })}
          />
        )}
      </div>
      <Await loaded={loaded} what="the health">
        {(view) => <Pictures view={view} />}
      </Await>
      <p class="after dim">
        For alerts, load <code>deploy/prometheus/alerts.yml</code>. For other questions use{" "}
        <code>quotekeeper sql</code>.
      </p>
    </div>
  );
}

function Range({ from, to }: { from: string; to: string }) {
  const change = (ends: { from?: string; to?: string }): boolean => {
    const [begin, end] = [ends.from ?? from, ends.to ?? to];
    const isRange = Date.parse(begin) < Date.parse(end);
    if (isRange) setParameters({ ...NOTHING_CHOSEN, span: "", from: begin, to: end });
    return isRange;
  };
  const field = (name: "from" | "to", label: string, value: string) => (
    <DateField
      label={label}
      form="moment"
      value={exchangeField(value).replace("T", " ")}
      choose={(typed) => {
        const chosen = instantOfField(typed.replace(" ", "T"));
        return chosen !== null && change({ [name]: chosen });
      }}
    />
  );
  return (
    <span class="range row small">
      {field("from", "From", from)} {field("to", "To", to)} <small class="dim">{ZONE_NAME}</small>
    </span>
  );
}

function Pictures({ view }: { view: HealthView }) {
  const { step, source } = view;
  const column = parameter("column");
  const reason = parameter("reason");
  const calls = callColumns(view);
  const misses = missColumns(view);
  const holes =
    column === "" ? view : { from: later(column, view.from), to: sooner(columnEnd(column, step), view.to) };
  return (
    <>
      <Sums view={view} />
      <div class="panels">
        <Picture view={view} id="answers" columns={calls.columns}>
          <ToneLegend tones={calls.tones} />
        </Picture>
        <Picture view={view} id="reasons" columns={misses.columns}>
          <ToneLegend
            tones={misses.tones}
            chosen={reason}
            choose={(tone) => setParameters({ reason: tone === reason ? "" : tone, job: "", slot: "" })}
          />
          {misses.undrawn > 0 && (
            <p class="dim">
              Not drawn: {counted(misses.undrawn, "miss", "misses")} of unknown symbols, which are counted at
              each slot until the job file is corrected.
            </p>
          )}
        </Picture>
        <Picture view={view} id="lateness" columns={lateColumns(view)} figure={late}>
          <LateLegend view={view} />
        </Picture>
        <Panel id="taken" kind="half" title="Takeovers of accounts">
          <TakeOvers rows={view.takeOvers} />
        </Panel>
      </div>
      <Holes
        span={holes}
        source={source}
        version={view.misses.length}
        where={column === "" ? "in this time" : columnName(column, step)}
        whole={column === "" ? null : () => setParameters(NOTHING_CHOSEN)}
        closer={column === "" || step === "minute" ? null : holes}
      />
    </>
  );
}

/** What each picture is of, and what it says where there is nothing to draw. */
const PICTURES = {
  answers: { title: "Answers", empty: "No answer in this time" },
  reasons: { title: "Missed, by reason", empty: "Nothing was missed in this time" },
  lateness: { title: "Lateness, from slot to answer", empty: "No slot with an answer in this time" },
};

type PictureProps = {
  view: HealthView;
  id: keyof typeof PICTURES;
  columns: readonly Column[];
  figure?: (value: number) => string;
  children: ComponentChildren;
};

/** One picture, whose columns lead to the slots that missed then. */
function Picture({ view: { from, to, step }, id, columns, figure, children }: PictureProps) {
  const { title, empty } = PICTURES[id];
  const chosen = parameter("column");
  return (
    <Panel
      id={id}
      kind="half"
      title={
        <>
          {title} <small>by the {step}</small>
        </>
      }
    >
      {columns.length === 0 ? (
        <Empty title={empty} />
      ) : (
        <>
          <Columns
            label={`${title} by the ${step}`}
            span={{ from, to, widthMs: WIDTHS[step] }}
            choose={(at) => setParameters({ column: at === chosen ? "" : at, job: "", slot: "" })}
            columns={columns}
            chosen={chosen}
            figure={figure}
          />
          {children}
        </>
      )}
    </Panel>
  );
}

const later = (one: string, other: string): string => (Date.parse(one) > Date.parse(other) ? one : other);
const sooner = (one: string, other: string): string => (Date.parse(one) < Date.parse(other) ? one : other);

function Sums({ view: { calls, due, misses } }: { view: HealthView }) {
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  const dueAll = sum(due.map((each) => each.due));
  const stored = sum(due.map((each) => each.stored));
  const refused = sum(calls.filter(({ outcome }) => outcome === "quota_fault").map((each) => each.calls));
  return (
    <dl class="ticker row">
      <Fact name="Answers" value={sum(calls.map((each) => each.calls))} />
      <Fact name="Refused for the limit" value={refused} />
      <Fact name="Quotes due" value={dueAll} />
      <Fact name="Missed" value={sum(misses.map(({ missed }) => missed))} />
      <Fact name="Stored" value={dueAll === 0 ? NOTHING : percent((100 * stored) / dueAll)} />
    </dl>
  );
}

function LateLegend({ view: { lateness, step } }: { view: HealthView }) {
  const worst = lateness.reduce((most, each) => (each.p95Ms > most.p95Ms ? each : most));
  const last = Math.max(...lateness.map(({ mostMs }) => mostMs));
  const [looked, of] = lateness.reduce(([n, all], each) => [n + each.slots, all + each.of], [0, 0]);
  return (
    <>
      <ToneLegend
        tones={[
          {
            tone: "median",
            name: `median, worst ${step}:`,
            text: late(Math.max(...lateness.map((each) => each.medianMs))),
          },
          { tone: "p95", name: `95th percentile, worst ${step}:`, text: late(worst.p95Ms) },
        ]}
      />
      <p class="dim">
        The last answer came {late(last)} after its slot.{" "}
        {looked < of && `Measured at ${thousands(looked)} of ${counted(of, "slot")}.`}
      </p>
    </>
  );
}
