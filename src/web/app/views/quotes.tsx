/** The watch table: the newest quote of each instrument, live, sortable, searchable. */
import { useMemo, useState } from "preact/hooks";
import type { QuoteRow } from "../../api/types.ts";
import { Empty, Loading, SourceTag } from "../parts/notes.tsx";
import { Segments } from "../parts/segments.tsx";
import { nowMs } from "../lib/pageClock.ts";
import { age, decimal, direction, grouped, padded, placesOf, signed } from "../lib/format.ts";
import { href, parameter, setParameters } from "../lib/router.ts";
import { changed, quoteList, seriesKey, trouble } from "../lib/store.ts";

type Column = {
  key: string;
  name: string;
  /** What rows are ordered by; null sorts last. */
  by: (row: QuoteRow) => number | string | null;
  text?: boolean;
  wide?: boolean;
};

const value = (text: string | null): number | null => (text === null ? null : Number(text));

const COLUMNS: readonly Column[] = [
  { key: "instrument", name: "Instrument", by: ({ instrument }) => instrument, text: true },
  { key: "last", name: "Last", by: ({ last }) => value(last) },
  { key: "change", name: "Change", by: ({ change }) => value(change) },
  { key: "pct", name: "%", by: ({ pctChange }) => value(pctChange) },
  { key: "bid", name: "Bid", by: ({ bid }) => value(bid) },
  { key: "ask", name: "Ask", by: ({ ask }) => value(ask) },
  { key: "spread", name: "Spread", by: ({ spread }) => value(spread) },
  { key: "volume", name: "Volume", by: ({ volume }) => value(volume) },
  { key: "age", name: "Age", by: ({ observedAt }) => -Date.parse(observedAt) },
  { key: "source", name: "Source", by: ({ source }) => source, text: true },
  { key: "description", name: "Description", by: ({ description }) => description, text: true, wide: true },
];

const KINDS = [
  { key: "", name: "All" },
  { key: "securities", name: "Securities" },
  { key: "options", name: "Options" },
];

/** Rows drawn at once; the search narrows the rest. */
const MOST_ROWS = 400;

/** The view. */
export function QuotesView() {
  const rows = quoteList.value;
  const [search, setSearch] = useState(parameter("search"));
  const [all, setAll] = useState(false);
  const kind = parameter("kind");
  const sort = parameter("sort") || "";
  const found = useMemo(() => ordered(matching(rows ?? [], search, kind), sort), [rows, search, kind, sort]);
  const places = useMemo(() => placesIn(rows ?? []), [rows]);
  const shown = all ? found : found.slice(0, MOST_ROWS);
  return (
    <div class="view">
      <div class="bar">
        <h1 tabIndex={-1}>Quotes</h1>
        <input
          type="search"
          aria-label="Search instruments"
          placeholder="Search symbol or name"
          value={search}
          onInput={(event) => {
            setSearch(event.currentTarget.value);
            setParameters({ search: event.currentTarget.value }, { step: false });
          }}
        />
        <Segments
          label="Kind"
          names={KINDS}
          chosen={KINDS.find(({ key }) => key === kind)?.name}
          choose={(chosen) => setParameters({ kind: KINDS.find(({ name }) => name === chosen)?.key ?? "" })}
        />
        <span class="dim" role="status">
          {rows ? `${found.length} of ${rows.length}` : ""}
        </span>
      </div>
      {rows === null ? (
        !trouble.value && <Loading what="the quotes" />
      ) : rows.length === 0 ? (
        <Empty title="No quotes yet">The first ones arrive within seconds of a job's first slot.</Empty>
      ) : found.length === 0 ? (
        <Empty title="Nothing matches">Search for a symbol, such as AAPL, or a part of a name.</Empty>
      ) : (
        <QuotesTable {...{ shown, places, sort }} />
      )}
      {!all && found.length > MOST_ROWS && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {found.length}
        </button>
      )}
    </div>
  );
}

function QuotesTable({ shown, places, sort }: { shown: readonly QuoteRow[]; places: Places; sort: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Quotes">
      <table class="quotes">
        <caption class="unseen">The newest quote of each instrument</caption>
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <Heading key={column.key} column={column} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <Row key={seriesKey(row)} row={row} places={places} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Heading({ column: { key, name, text, wide }, sort }: { column: Column; sort: string }) {
  const up = sort === key;
  const down = sort === `-${key}`;
  return (
    <th
      scope="col"
      class={`${text ? "text" : ""} ${wide ? "wide-only" : ""}`}
      aria-sort={up ? "ascending" : down ? "descending" : undefined}
    >
      <button type="button" onClick={() => setParameters({ sort: up ? `-${key}` : down ? "" : key })}>
        {name}
        <i aria-hidden="true">{up ? "▲" : down ? "▼" : ""}</i>
      </button>
    </th>
  );
}

/** Decimals of each column, so that points stand below each other. */
type Places = Record<"last" | "change" | "pctChange" | "bid" | "ask" | "spread", number>;

function placesIn(rows: readonly QuoteRow[]): Places {
  const of = (name: keyof Places): number => placesOf(rows.map((row) => row[name]));
  return {
    ...{ last: of("last"), change: of("change"), pctChange: of("pctChange") },
    ...{ bid: of("bid"), ask: of("ask"), spread: of("spread") },
  };
}

function Row({ row, places }: { row: QuoteRow; places: Places }) {
  const { instrument, last, change, pctChange, bid, ask, spread, volume, observedAt, source, sourceName } =
    row;
  const fresh = changed.value.has(seriesKey(row));
  return (
    <tr data-instrument={instrument} data-fresh={fresh ? observedAt : undefined}>
      <th scope="row" class="text">
        <a href={instrumentHref(row)}>{instrument}</a>
        {row.delayed && <span class="tag">delayed</span>}
      </th>
      <td class={`strong ${fresh ? "flash" : ""}`} key={observedAt}>
        {padded(decimal(last), places.last)}
      </td>
      <td class={direction(change)}>{padded(signed(change), places.change)}</td>
      <td class={direction(pctChange)}>{padded(signed(pctChange), places.pctChange)}</td>
      <td>{padded(decimal(bid), places.bid)}</td>
      <td>{padded(decimal(ask), places.ask)}</td>
      <td class="dim">{padded(decimal(spread), places.spread)}</td>
      <td>{grouped(volume)}</td>
      <td class="dim">{age(observedAt, nowMs.value)}</td>
      <td class="text">
        <SourceTag source={source} name={sourceName} />
      </td>
      <td class="text dim wide-only">{row.description ?? ""}</td>
    </tr>
  );
}

/** Where one series is shown. */
function instrumentHref({ instrument, sourceId, delayed }: QuoteRow): string {
  return href("/instrument", {
    name: instrument,
    source: String(sourceId),
    ...(delayed && { delayed: "true" }),
  });
}

function matching(rows: readonly QuoteRow[], search: string, kind: string): QuoteRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ instrument, description, optionType, source }) => {
    if (kind === "securities" && optionType !== null) return false;
    if (kind === "options" && optionType === null) return false;
    const text = `${instrument} ${description ?? ""} ${source}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function ordered(rows: QuoteRow[], sort: string): QuoteRow[] {
  const down = sort.startsWith("-");
  const column = COLUMNS.find(({ key }) => key === sort.replace("-", ""));
  if (!column) return rows;
  return [...rows].sort((a, b) => {
    const [x, y] = [column.by(a), column.by(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    const order = typeof x === "string" ? x.localeCompare(String(y), "en", { numeric: true }) : x - Number(y);
    return down ? -order : order;
  });
}
