/** One instrument: its bars, as a chart, as a table, and as a file. */
import { useEffect, useState } from "preact/hooks";
import type { BarsView, QuoteRow } from "../../api/types.ts";
import { BarsChart, BarsTable } from "../parts/bars.tsx";
import { Await, Empty, Loading, SourceTag } from "../parts/notes.tsx";
import { Segments } from "../parts/segments.tsx";
import { nowMs } from "../lib/pageClock.ts";
import { age, decimal, direction, grouped, signed } from "../lib/format.ts";
import { InstrumentSearch } from "../parts/search.tsx";
import { useSeries } from "../lib/series.ts";
import { useApi, changed, seriesKey, trouble } from "../lib/store.ts";
import { INTERVALS, intervalFor, rangeFor, RANGES, sessionsOf } from "../lib/ranges.ts";
import { href, parameter, setParameters } from "../lib/router.ts";

/** The view. */
export function InstrumentView() {
  const wanted = parameter("name").toUpperCase();
  const rows = useSeries(wanted);
  if (rows === null) return trouble.value ? null : <Loading what="the instrument" />;
  const row = chosen(rows);
  return (
    <div class="view">
      <div class="bar">
        <h1 tabIndex={-1}>{row?.instrument ?? "Instrument"}</h1>
        <InstrumentSearch
          key={row?.instrument ?? ""}
          label="Go to another instrument"
          placeholder="Another instrument"
          choose={(name) => setParameters({ name, source: "", delayed: "" })}
        />
        <Sources series={rows} row={row} />
      </div>
      {row ? (
        <Series key={seriesKey(row)} row={row} />
      ) : wanted === "" ? (
        <Empty title="No quotes yet">The first ones arrive within seconds of a job's first slot.</Empty>
      ) : (
        <Empty title={`Nothing is stored of ${wanted}`}>Choose another instrument above.</Empty>
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
  return (
    <>
      {series.length > 1 && (
        <select
          aria-label="Source"
          value={row ? seriesKey(row) : ""}
          onChange={(event) => {
            const to = series.find((each) => seriesKey(each) === event.currentTarget.value);
            if (to) setParameters({ source: String(to.sourceId), delayed: String(to.delayed) });
          }}
        >
          {series.map((each) => (
            <option key={seriesKey(each)} value={seriesKey(each)}>
              {each.source === "simulated" ? "SIMULATED" : each.sourceName}
              {each.delayed ? ", delayed" : ""}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

function Series({ row }: { row: QuoteRow }) {
  const range = RANGES.find(({ name }) => name === parameter("range"))?.name ?? "1D";
  const asked = INTERVALS.find(({ name }) => name === parameter("interval"))?.name ?? "1m";
  const interval = intervalFor(range, asked);
  const [version, setVersion] = useState(0);
  const isNew = changed.value.has(seriesKey(row));
  useEffect(() => {
    if (isNew) setVersion((before) => before + 1);
  }, [row.observedAt]);
  const query = {
    ...{ instrument: String(row.instrumentId), source: String(row.sourceId), delayed: String(row.delayed) },
    ...{ interval, sessions: String(sessionsOf(range)) },
  };
  const loaded = useApi<BarsView>("/api/bars", query, version);
  const simulated = row.source === "simulated";
  return (
    <>
      <Header row={row} />
      <div class="bar">
        <Segments
          label="Range"
          names={RANGES}
          chosen={range}
          choose={(name) => setParameters({ range: name, interval: intervalFor(name, asked) })}
        />
        <Segments
          label="Interval"
          names={INTERVALS}
          chosen={interval}
          choose={(name) => setParameters({ interval: name, range: rangeFor(name, range) })}
        />
        <span class="legend">
          <i class="key-band" /> bid to ask <i class="key-shade" /> outside regular hours <b>D</b> dividend
        </span>
        <a class="button" download href={href("/api/bars.csv", query)}>
          CSV
        </a>
      </div>
      <Await loaded={loaded} what="the bars">
        {(view) =>
          view.bars.length === 0 ? (
            <Empty title="No bars">Nothing is stored of this series.</Empty>
          ) : (
            <>
              <BarsChart
                view={view}
                simulated={simulated}
                name={`${row.instrument} ${range} ${view.interval}`}
              />
              <BarsTable view={view} />
            </>
          )
        }
      </Await>
    </>
  );
}

function Header({ row }: { row: QuoteRow }) {
  const { last, change, pctChange, bid, ask, bidSize, askSize, spread, volume, observedAt, delta } = row;
  return (
    <dl class="ticker">
      <div class="ticker-last">
        <dt>Last</dt>
        <dd>{decimal(last)}</dd>
      </div>
      <div>
        <dt>Change</dt>
        <dd class={direction(change)}>
          {signed(change)} <small>{pctChange === null ? "" : `${signed(pctChange)} %`}</small>
        </dd>
      </div>
      <div>
        <dt>Bid × size</dt>
        <dd>
          {decimal(bid)} <small>× {grouped(bidSize)}</small>
        </dd>
      </div>
      <div>
        <dt>Ask × size</dt>
        <dd>
          {decimal(ask)} <small>× {grouped(askSize)}</small>
        </dd>
      </div>
      <div>
        <dt>Spread</dt>
        <dd>{decimal(spread)}</dd>
      </div>
      <div>
        <dt>Volume</dt>
        <dd>{grouped(volume)}</dd>
      </div>
      {delta !== null && (
        <div>
          <dt>Delta</dt>
          <dd>{delta}</dd>
        </div>
      )}
      <div>
        <dt>Age</dt>
        <dd>{age(observedAt, nowMs.value)}</dd>
      </div>
      <div>
        <dt>{row.description ?? "Source"}</dt>
        <dd>
          <SourceTag source={row.source} name={row.sourceName} />{" "}
          {row.delayed && <span class="tag">delayed</span>}
        </dd>
      </div>
    </dl>
  );
}
