/** One instrument: its newest quote, and its bars as a chart, as a table, and as a file. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { joinNames, seriesKey } from "../../api/quoteTable.ts";
import type {
  BarsView,
  FoundInstruments,
  MissedBars,
  QuoteRow,
  Interval,
} from "../../../archive/ask/dashboardTypes.ts";
import { direction, percent, price, pricePlaces, signed, thousands } from "../../../ground/figures.ts";
import { BarsChart, BarsTable } from "../parts/barsChart.tsx";
import { Select, DateField, Segments } from "../parts/controls.tsx";
import { Fact } from "../parts/facts.tsx";
import { Await, Empty, Loading, sourceText, SourceTag } from "../parts/notes.tsx";
import { Age, SaidFacts } from "../parts/said.tsx";
import { ask } from "../lib/api.ts";
import { drawingOf } from "../lib/drawing.ts";
import { useQuotes, several } from "../lib/newest.ts";
import { nowMs } from "../lib/pageClock.ts";
import {
  intervalOf,
  mergeBars,
  olderSessions,
  rangeLabel,
  rangeOf,
  type ChosenRange,
  isDateText,
  RANGES,
} from "../lib/ranges.ts";
import { href, parameter, setParameters } from "../lib/router.ts";
import { askAndTell, useNews } from "../lib/useApi.ts";
import { INTERVALS } from "../../../archive/ask/widths.ts";
import type { Shape } from "../chart/chart.ts";

export function ChartPage() {
  const name = parameter("name").toUpperCase();
  const none = useFirst(name === "");
  const quotes = useQuotes(name === "" ? null : { names: joinNames([name]) });
  // Those of the instrument before stay until this one's are there.
  const series = (quotes.data ?? []).filter(({ instrument }) => instrument.toUpperCase() === name);
  const row = chosen(series);
  return (
    <div>
      <div class="bar">
        <h1 tabIndex={-1}>{row?.instrument ?? (name || "Chart")}</h1>
        {row?.description && <span class="dim">{row.description}</span>}
        <Sources series={series} row={row} />
      </div>
      {none ? (
        <Empty title="No quotes yet">The first ones arrive within seconds of a job's first slot.</Empty>
      ) : (
        <Await loaded={quotes} what="the instrument">
          {(rows) =>
            row ? (
              <Series key={seriesKey(row)} row={row} />
            ) : rows.length > 0 ? (
              <Loading what="the instrument" />
            ) : (
              <Empty title={`Nothing is stored of ${name}`}>
                Find another one with the field in the bar.
              </Empty>
            )
          }
        </Await>
      )}
    </div>
  );
}

/**
 * Puts the archive's first instrument into an address that names none: whoever is given the address sees the same.
 *
 * @returns whether the archive has none
 */
function useFirst(isWanted: boolean): boolean {
  const [none, setNone] = useState(false);
  useEffect(() => {
    if (!isWanted) return;
    // What cannot be read now is asked for again.
    return askAndTell("first", async (abort) => {
      const { instruments } = await ask<FoundInstruments>("api/instruments", { search: "" }, abort);
      const [first] = instruments;
      if (first) setParameters({ name: first.instrument }, { step: false });
      else setNone(true);
    });
  }, [isWanted]);
  return isWanted && none;
}

function chosen(series: readonly QuoteRow[]): QuoteRow | null {
  const [source, delayed] = [parameter("source"), parameter("delayed") === "true"];
  return (
    series.find((row) => String(row.sourceId) === source && row.delayed === delayed) ?? series[0] ?? null
  );
}

function Sources({ series, row }: { series: readonly QuoteRow[]; row: QuoteRow | null }) {
  if (series.length < 2) return null;
  const options = series.map((each) => ({ value: seriesKey(each), name: sourceText(each) }));
  const choose = (key: string): void => {
    const to = series.find((each) => seriesKey(each) === key);
    if (to) setParameters({ source: String(to.sourceId), delayed: String(to.delayed) });
  };
  return <Select label="Source" value={row ? seriesKey(row) : ""} options={options} choose={choose} />;
}

function Series({ row }: { row: QuoteRow }) {
  const range = rangeOf({ range: parameter("range"), from: parameter("from"), to: parameter("to") });
  const interval = intervalOf(parameter("interval"));
  // Older sessions are read as one scrolls to them, until another range or width is chosen.
  const asked = `${rangeLabel(range)} ${interval}`;
  const [older, setOlder] = useState({ asked, sessions: 0 });
  const own = "name" in range ? range.sessions : 0;
  const sessions = older.asked === asked ? Math.max(own, older.sessions) : own;
  const series = { instrument: String(row.instrumentId), source: String(row.sourceId) };
  const dates = Object.entries("name" in range ? { sessions: String(sessions) } : range);
  const given = Object.fromEntries(dates.filter(([, value]) => value !== ""));
  const query = { ...series, delayed: String(row.delayed), interval, ...given };
  const loaded = useNews<BarsView>("api/bars", query, mergeBars);
  const view = loaded.data;
  const [from, to] = [view?.bars[0]?.date, view?.bars.at(-1)?.date];
  const drawn = view && from && to ? { ...series, interval: view.interval, from, to } : null;
  // What the ledger says of the time that is drawn: a reading of its own, so that it holds up no bar.
  const missed = useNews<MissedBars>("api/bars/misses", drawn).data;
  const drawing = useMemo(() => view && drawingOf(view, missed?.misses ?? [], nowMs.peek()), [view, missed]);
  // Bars of the range before stay until those of another are there: so long the name is that of theirs.
  const name = useMemo(() => `${row.instrument} ${rangeLabel(range)} ${view?.interval ?? interval}`, [view]);
  const draw = parameter("draw");
  const shape = {
    line: draw === "line" || (draw !== "candles" && drawing?.flat === true),
    log: parameter("scale") === "log",
  };
  // One question at a time.
  const more = view && !loaded.loading ? olderSessions(view, sessions) : null;
  return (
    <>
      <Header row={row} />
      <ChartControls range={range} interval={interval} shape={shape} csv={href("api/bars.csv", query)} />
      <Await loaded={loaded} what="the bars">
        {({ bars, interval: width, asked: wanted }) =>
          bars.length === 0 || !drawing ? (
            <Empty title="No bars">Nothing is stored of this series in this range.</Empty>
          ) : (
            <>
              {width !== wanted && (
                <p class="after dim" role="status">
                  Drawn in bars of {width}: those of {wanted} would be more than a chart can show at once.
                </p>
              )}
              <BarsChart
                drawing={drawing}
                shape={shape}
                name={name}
                wantOlder={() => more !== null && setOlder({ asked, sessions: more })}
              />
              {missed?.more && <p class="after dim">Older holes than these are not told.</p>}
              <Key />
              <BarsTable drawing={drawing} />
            </>
          )
        }
      </Await>
    </>
  );
}

const KEY = [
  ["band", "bid to ask"],
  ["shade", "outside regular hours"],
  ["hole", "no quotes"],
  ["sim", "gap, reason known"],
  ["dim", "gap, reason unknown"],
  ["accent", "D: dividend"],
] as const;

function Key() {
  return (
    <p class="legend row small dim">
      {KEY.map(([color, meaning]) => (
        <span key={color} style={{ "--tone": `var(--${color})` }}>
          <i /> {meaning}
        </span>
      ))}
    </p>
  );
}

function Header({ row }: { row: QuoteRow }) {
  const places = pricePlaces([row.last, row.change, row.bid, row.ask, row.spread]);
  return (
    <dl class="ticker row newest">
      <Fact name="Last" value={price(row.last, places)} />
      <Fact
        name="Change"
        tone={direction(row.change)}
        value={withSmall(signed(price(row.change, places)), row.pctChange && signed(percent(row.pctChange)))}
      />
      <Fact name="Bid × size" value={withSmall(price(row.bid, places), `× ${thousands(row.bidSize)}`)} />
      <Fact name="Ask × size" value={withSmall(price(row.ask, places), `× ${thousands(row.askSize)}`)} />
      <Fact name="Spread" value={price(row.spread, places)} />
      <Fact name="Volume" value={thousands(row.volume)} />
      <SaidFacts row={row} />
      <Fact name="Age" value={<Age row={row} />} />
      {several.value && (
        <Fact name="Source" value={<SourceTag source={row.source} name={row.sourceName} />} />
      )}
      {row.delayed && <Fact name="Quotes" value="delayed" />}
    </dl>
  );
}

const withSmall = (shown: string, small: string | null) => (
  <>
    {shown} <small>{small}</small>
  </>
);

type ChartControlsProps = { range: ChosenRange; interval: Interval; shape: Shape; csv: string };

const SHAPES = [{ name: "Candles" }, { name: "Line", label: "the closes as a line" }] as const;

function ChartControls({ range, interval, shape: { line, log }, csv }: ChartControlsProps) {
  return (
    <div class="bar chart-controls">
      <Segments
        label="Range"
        names={RANGES}
        chosen={"name" in range ? range.name : undefined}
        choose={(name) => setParameters({ range: name, from: "", to: "" })}
      />
      <Select
        label="Interval"
        value={interval}
        options={INTERVALS.map((name) => ({ value: name, name }))}
        choose={(to) => setParameters({ interval: to })}
      />
      <Segments
        label="Drawn as"
        names={SHAPES}
        chosen={line ? "Line" : "Candles"}
        choose={(name) => setParameters({ draw: name.toLowerCase() })}
      />
      <button
        aria-pressed={log}
        title="a logarithmic scale"
        onClick={() => setParameters({ scale: log ? "" : "log" })}
      >
        Log
      </button>
      <Dates range={range} />
      <a class="button" download href={csv}>
        CSV
      </a>
    </div>
  );
}

/** No archive is older. */
const EARLIEST = "1990-01-01";

function Dates({ range }: { range: ChosenRange }) {
  const dates = "name" in range ? { from: "", to: "" } : range;
  return (
    <>
      {(["from", "to"] as const).map((end) => (
        <DateField
          key={end}
          label={end === "from" ? "From" : "To"}
          value={dates[end]}
          choose={(typed) => {
            const isDate = typed === "" || (isDateText(typed) && typed >= EARLIEST);
            if (isDate) setParameters({ ...dates, [end]: typed, range: "" });
            return isDate;
          }}
        />
      ))}
    </>
  );
}
