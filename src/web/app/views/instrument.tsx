/** One instrument: its bars, as a chart, as a table, and as files. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { indicatorKey, indicatorsOf } from "../../api/indicators.ts";
import { joinNames, MOST_COMPARED, splitNames } from "../../api/nameList.ts";
import { seriesKey } from "../../api/quoteTable.ts";
import type { BarsView, Interval, MissedBars, QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { BarsChart, type ChartRef, BarsTable } from "../parts/bars.tsx";
import { ChartControls, type Choice, setCompare, setIndicators } from "../parts/chartControls.tsx";
import { Await, Empty, Loading, sourceText, OfOneSource } from "../parts/notes.tsx";
import { Select } from "../parts/controls.tsx";
import { nowMs } from "../lib/pageClock.ts";
import { type Drawing, drawingOf } from "../lib/drawing.ts";
import { exchangeDateOf } from "../lib/format.ts";
import { useSeries } from "../lib/pageFeed.ts";
import { changed, trouble, several } from "../lib/store.ts";
import { useApi } from "../lib/useApi.ts";
import { type ChosenRange, intervalOf, olderSessions, rangeLabel, rangeOf } from "../lib/ranges.ts";
import { href, parameter, setParameters } from "../lib/router.ts";
import { Fact } from "../parts/facts.tsx";
import { Age, SaidFacts } from "../parts/said.tsx";
import { direction, thousands, percent, price, signed } from "../../../figures.ts";
import { placesOfRow } from "../lib/watchColumns.ts";

export function InstrumentView() {
  const wanted = parameter("name").toUpperCase();
  const rows = useSeries(wanted);
  if (rows === null)
    return (
      <>
        <h1 tabIndex={-1} class={trouble.value ? undefined : "unseen"}>
          {wanted === "" ? "Instrument" : wanted}
        </h1>
        {!trouble.value && <Loading what="the instrument" />}
      </>
    );
  return <Shown rows={rows} row={chosen(rows)} wanted={wanted} />;
}

function Shown({ rows, row, wanted }: { rows: readonly QuoteRow[]; row: QuoteRow | null; wanted: string }) {
  // Whoever is given the address sees the same instrument, whichever is the first of the archive then.
  useEffect(() => {
    if (wanted === "" && row) setParameters({ name: row.instrument }, { step: false });
  }, [wanted, row?.instrument]);
  return (
    <div>
      <div class="bar">
        <h1 tabIndex={-1}>{row?.instrument ?? "Instrument"}</h1>
        {row?.description && <span class="dim">{row.description}</span>}
        <Sources series={rows} row={row} />
      </div>
      {row ? (
        <Series key={seriesKey(row)} row={row} />
      ) : wanted === "" ? (
        <Empty title="No quotes yet">The first ones arrive within seconds of a job's first slot.</Empty>
      ) : (
        <Empty title={`Nothing is stored of ${wanted}`}>Find another one with the field in the bar.</Empty>
      )}
    </div>
  );
}

function chosen(series: readonly QuoteRow[]): QuoteRow | null {
  const source = parameter("source");
  const delayed = parameter("delayed") === "true";
  return (
    series.find((row) => String(row.sourceId) === source && row.delayed === delayed) ?? series[0] ?? null
  );
}

function Sources({ series, row }: { series: readonly QuoteRow[]; row: QuoteRow | null }) {
  if (series.length < 2) return null;
  return (
    <Select
      label="Source"
      value={row ? seriesKey(row) : ""}
      options={series.map((each) => ({ value: seriesKey(each), name: sourceText(each) }))}
      choose={(key) => {
        const to = series.find((each) => seriesKey(each) === key);
        if (to) setParameters({ source: String(to.sourceId), delayed: String(to.delayed) });
      }}
    />
  );
}

function Series({ row }: { row: QuoteRow }) {
  const choice = chosenOf();
  const { range, interval, compare, indicators } = choice;
  const keys = indicators.map(indicatorKey).join(",");
  const version = useVersion(row, "name" in range ? "" : range.to);
  const series = { instrument: String(row.instrumentId), source: String(row.sourceId) };
  const { sessions, setSessions } = useSessions(range, interval);
  const query: Record<string, string> = {
    ...series,
    delayed: String(row.delayed),
    interval,
    ...("name" in range ? { sessions: String(sessions) } : withoutEmpty(range)),
    ...withoutEmpty({ compare: joinNames(compare) }),
  };
  const loaded = useApi<BarsView>("/api/bars", query, version);
  const view = loaded.data;
  const [from, to] = [view?.bars[0]?.date, view?.bars.at(-1)?.date];
  const drawn = view && from && to ? { ...series, interval: view.interval, from, to } : null;
  // What the ledger says of the time that is drawn: a reading of its own, so that it holds up no bar.
  const missed = useApi<MissedBars>("/api/bars/misses", drawn, version);
  const drawing = useMemo(
    () => view && drawingOf(view, { misses: missed.data?.misses ?? [], indicators, nowMs: nowMs.peek() }),
    [view, missed.data, keys],
  );
  const chart: ChartRef = useRef(null);
  // One question at a time.
  const more = view && !loaded.loading ? olderSessions(view, sessions) : null;
  return (
    <>
      <Header row={row} />
      <ChartControls
        choice={choice}
        instrument={row.instrument}
        csv={href("/api/bars.csv", { ...query, ...withoutEmpty({ indicators: keys }) })}
        savePicture={() => void chart.current?.then((each) => each.save())}
      />
      <Await loaded={loaded} what="the bars">
        {({ bars }) =>
          bars.length === 0 || !drawing ? (
            <Empty title="No bars">Nothing is stored of this series in this range.</Empty>
          ) : (
            <>
              <Notes drawing={drawing} />
              <BarsChart
                drawing={drawing}
                chart={chart}
                name={`${row.instrument} ${rangeLabel(range)} ${drawing.view.interval}`}
                remove={(key) => removeLine(choice, key)}
                wantOlder={() => more !== null && setSessions(more)}
              />
              {missed.data?.more && <p class="after dim">Older holes than these are not told.</p>}
              <Key />
              <BarsTable view={drawing.view} />
            </>
          )
        }
      </Await>
    </>
  );
}

/** How many sessions are read: those of the range, and older ones as one scrolls to them, until another range or width is chosen. */
function useSessions(range: ChosenRange, interval: Interval) {
  const of = `${rangeLabel(range)} ${interval}`;
  const [older, setOlder] = useState({ of: "", sessions: 0 });
  const chosenSessions = "name" in range ? range.sessions : 0;
  return {
    sessions: older.of === of ? older.sessions : chosenSessions,
    setSessions: (sessions: number): void => setOlder({ of, sessions }),
  };
}

function withoutEmpty(parameters: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== ""));
}

function chosenOf(): Choice {
  const compare = splitNames(parameter("compare"));
  return {
    range: rangeOf({ range: parameter("range"), from: parameter("from"), to: parameter("to") }),
    interval: intervalOf(parameter("interval")),
    compare: [...new Set(compare)].filter((name) => name !== "").slice(0, MOST_COMPARED),
    indicators: indicatorsOf(parameter("indicators")),
  };
}

/** Changes with each new quote, unless the range ends before it. */
function useVersion(row: QuoteRow, until: string): number {
  const [version, setVersion] = useState(0);
  const isNew = changed.value.has(seriesKey(row));
  const isSeen = until === "" || until >= exchangeDateOf(Date.parse(row.observedAt));
  useEffect(() => {
    if (isNew && isSeen) setVersion((before) => before + 1);
  }, [row.observedAt]);
  return version;
}

function removeLine({ compare, indicators }: Choice, key: string): void {
  if (compare.includes(key)) setCompare(compare.filter((each) => each !== key));
  else setIndicators(indicators.filter((each) => indicatorKey(each) !== key));
}

/** What is drawn otherwise than it was asked for, and what percents are of. */
function Notes({ drawing: { view, lines, base } }: { drawing: Drawing }) {
  const without = lines.filter(
    ({ unit, values }) => unit === "percent" && values.every((one) => one === null),
  );
  return (
    <>
      {view.interval !== view.asked && (
        <p class="after dim" role="status">
          Drawn in bars of {view.interval}: those of {view.asked} would be more than a chart can show at once.
        </p>
      )}
      {without.length > 0 && (
        <p class="after dim" role="status">
          Nothing is stored of {without.map(({ label }) => label).join(", ")} from this source in this range.
        </p>
      )}
      {base !== null && <p class="after dim">In percent from the first bar in view.</p>}
    </>
  );
}

const KEY = [
  ["key-band", "band", "bid to ask"],
  ["key-shade", "shade", "outside regular hours"],
  ["key-hole", "hole", "no quotes"],
  ["key-known", "sim", "gap, reason known"],
  ["key-unknown", "dim", "gap, reason unknown"],
] as const;

function Key() {
  return (
    <p class="legend row small dim">
      {KEY.map(([mark, color, meaning]) => (
        <span key={mark}>
          <i class={mark} style={{ "--tone": `var(--${color})` }} /> {meaning}
        </span>
      ))}
      <span>
        <b>D</b> dividend
      </span>
    </p>
  );
}

/** The newest quote, and where it comes from. */
function Header({ row }: { row: QuoteRow }) {
  const { last, change, pctChange, bid, ask, bidSize, askSize, spread, volume } = row;
  const places = placesOfRow(row);
  const from = (
    <>
      <OfOneSource source={row.source} name={row.sourceName} />{" "}
      {row.delayed && <span class="tag">delayed</span>}
    </>
  );
  return (
    <dl class="ticker row newest">
      <Fact name="Last" value={price(last, places)} />
      <Fact
        name="Change"
        tone={direction(change)}
        value={
          <>
            {signed(price(change, places))}{" "}
            <small>{pctChange === null ? "" : signed(percent(pctChange))}</small>
          </>
        }
      />
      <Fact name="Bid × size" value={sized(price(bid, places), bidSize)} />
      <Fact name="Ask × size" value={sized(price(ask, places), askSize)} />
      <Fact name="Spread" value={price(spread, places)} />
      <Fact name="Volume" value={thousands(volume)} />
      <SaidFacts row={row} />
      <Fact name="Age" value={<Age row={row} />} />
      {(several.value || row.delayed) && <Fact name="Source" value={from} />}
    </dl>
  );
}

const sized = (shown: string, size: string | null) => (
  <>
    {shown} <small>× {thousands(size)}</small>
  </>
);
