/** One instrument: its bars, as a chart, as a table, and as a file. */
import { useEffect, useState } from "preact/hooks";
import type { Bar, BarsView, QuoteRow } from "../../api/types.ts";
import { BarsChart } from "../parts/chart.tsx";
import { Await, Empty, Loading, SourceTag } from "../parts/notes.tsx";
import { nowMs } from "../lib/clock.ts";
import {
  age,
  decimal,
  direction,
  exchangeTime,
  ZONE_NAME,
  grouped,
  padded,
  placesOf,
  shortDate,
  signed,
} from "../lib/format.ts";
import { useApi } from "../lib/load.ts";
import { INTERVALS, intervalFor, type Range, rangeFor, RANGES, sessionsOf } from "../lib/ranges.ts";
import { href, parameter, setParameters } from "../lib/router.ts";
import { changed, quoteList, seriesKey, trouble } from "../lib/store.ts";

/** Rows of the table at once. */
const ROWS = 120;

/** The view. */
export function InstrumentView() {
  const rows = quoteList.value;
  if (rows === null) return trouble.value ? null : <Loading what="the instruments" />;
  const wanted = parameter("name").toUpperCase();
  const row = chosen(rows, wanted);
  return (
    <div class="view">
      <div class="bar">
        <h1 tabIndex={-1}>{row?.instrument ?? "Instrument"}</h1>
        <Picker rows={rows} row={row} />
      </div>
      {row ? (
        <Series key={seriesKey(row)} row={row} />
      ) : rows.length === 0 ? (
        <Empty title="No quotes yet">The first ones arrive within seconds of a job's first slot.</Empty>
      ) : (
        <Empty title={`Nothing is stored of ${wanted}`}>Choose another instrument above.</Empty>
      )}
    </div>
  );
}

function chosen(rows: readonly QuoteRow[], name: string): QuoteRow | null {
  if (name === "") return rows[0] ?? null;
  const named = rows.filter(({ instrument }) => instrument.toUpperCase() === name);
  const source = parameter("source");
  const delayed = parameter("delayed") === "true";
  return named.find((row) => String(row.sourceId) === source && row.delayed === delayed) ?? named[0] ?? null;
}

function Picker({ rows, row }: { rows: readonly QuoteRow[]; row: QuoteRow | null }) {
  const series = rows.filter(({ instrument }) => instrument === row?.instrument);
  const names = [...new Set(rows.map(({ instrument }) => instrument))];
  return (
    <>
      <input
        key={row?.instrument ?? ""}
        type="search"
        list="instruments"
        aria-label="Go to another instrument"
        placeholder="Another instrument"
        onChange={(event) => {
          const name = event.currentTarget.value.trim();
          if (name !== "") setParameters({ name, source: "", delayed: "" });
        }}
      />
      <datalist id="instruments">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
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
          choose={(name) => setParameters({ range: name, interval: intervalFor(name as Range, asked) })}
        />
        <Segments
          label="Interval"
          names={INTERVALS}
          chosen={interval}
          choose={(name) => {
            const width = INTERVALS.find((each) => each.name === name)?.name ?? "1m";
            setParameters({ interval: width, range: rangeFor(width, range) });
          }}
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

function Segments({
  label,
  names,
  chosen: current,
  choose,
}: {
  label: string;
  names: readonly { name: string; label?: string }[];
  chosen: string;
  choose: (name: string) => void;
}) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {names.map(({ name, label: title }) => (
        <button
          key={name}
          type="button"
          title={title}
          aria-pressed={name === current}
          onClick={() => choose(name)}
        >
          {name}
        </button>
      ))}
    </div>
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

function BarsTable({ view: { bars, interval, more } }: { view: BarsView }) {
  const [shown, setShown] = useState(ROWS);
  const newest = [...bars].reverse();
  const places = {
    price: placesOf(
      bars.flatMap(({ open, high, low, close, bid, ask }) => [open, high, low, close, bid, ask]),
    ),
    spread: placesOf(bars.map(({ meanSpread }) => meanSpread)),
  };
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Bars">
        <table class="bars">
          <caption class="unseen">Bars, newest first</caption>
          <thead>
            <tr>
              <th scope="col" class="text">
                Date
              </th>
              {interval !== "1d" && <th scope="col">Time, {ZONE_NAME}</th>}
              <th scope="col" class="text">
                Session
              </th>
              {["Open", "High", "Low", "Close", "Bid", "Ask", "Mean spread", "Quotes", "Volume"].map(
                (name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {newest.slice(0, shown).map((bar) => (
              <BarRow key={bar.at} bar={bar} daily={interval === "1d"} places={places} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="after">
        {bars.length} bars{more ? "; older sessions are stored as well: choose a longer range" : ""}.{" "}
        {newest.length > shown && (
          <button type="button" onClick={() => setShown(shown + 10 * ROWS)}>
            Show more
          </button>
        )}
      </p>
    </>
  );
}

function BarRow({
  bar,
  daily,
  places,
}: {
  bar: Bar;
  daily: boolean;
  places: { price: number; spread: number };
}) {
  const price = (text: string | null): string => padded(decimal(text), places.price);
  return (
    <tr data-session={bar.session}>
      <td class="text">{shortDate(bar.date)}</td>
      {!daily && <td>{exchangeTime(bar.at, { seconds: false })}</td>}
      <td class="text dim">{bar.session}</td>
      <td>{price(bar.open)}</td>
      <td>{price(bar.high)}</td>
      <td>{price(bar.low)}</td>
      <td class="strong">{price(bar.close)}</td>
      <td>{price(bar.bid)}</td>
      <td>{price(bar.ask)}</td>
      <td class="dim">{padded(shortSpread(bar.meanSpread), places.spread)}</td>
      <td class="dim">{grouped(bar.quoteCount)}</td>
      <td>{grouped(bar.volume)}</td>
    </tr>
  );
}

/** A mean has as many digits as division gives; four decimals are what people compare. */
function shortSpread(meanSpread: string | null): string {
  return meanSpread === null ? decimal(null) : meanSpread.replace(/(\.\d{4})\d+$/, "$1");
}
