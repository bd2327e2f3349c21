/** Quotes: the newest ones of all instruments or of a watchlist, live, sortable, searchable. What is chosen stands in the address. */
import { useMemo, useRef, useState } from "preact/hooks";
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { Empty, Loading, OfOneSource } from "../parts/notes.tsx";
import { QuotesTable } from "../parts/quotesTable.tsx";
import { SearchField, Segments, Select } from "../parts/controls.tsx";
import { WatchlistEditor } from "../parts/watchlistEditor.tsx";
import { thousands } from "../../../figures.ts";
import { isMixed } from "../../api/quoteTable.ts";
import { parameter, setParameters } from "../lib/router.ts";
import { useQuotes } from "../lib/pageFeed.ts";
import { trouble } from "../lib/store.ts";
import { asListed, COLUMNS, ordered, type Search, searchOn, SOURCE, USUAL } from "../lib/watchColumns.ts";
import type { Watchlist } from "../lib/watchlistFile.ts";
import { watchlists } from "../lib/watchlists.ts";

const KINDS = [
  { key: "", name: "All" },
  { key: "securities", name: "Securities" },
  { key: "options", name: "Options" },
];

export function QuotesView() {
  const wanted = parameter("list");
  const list = watchlists.value.find(({ name }) => name === wanted) ?? null;
  const [editing, setEditing] = useState(false);
  return (
    <div class="fills">
      <div class="bar">
        <h1 tabIndex={-1}>Quotes</h1>
        <Select
          label="Watchlist"
          value={list?.name ?? ""}
          options={[
            { value: "", name: "All instruments" },
            ...watchlists.value.map(({ name }) => ({ value: name, name })),
          ]}
          choose={(to) => setParameters({ list: to })}
        />
        <button aria-expanded={editing} aria-controls="lists" onClick={() => setEditing(!editing)}>
          Watchlists…
        </button>
        <SearchField placeholder="Search symbol or name" />
        <Segments
          label="Kind"
          names={KINDS}
          chosen={KINDS.find(({ key }) => key === parameter("kind"))?.name}
          choose={(chosen) => setParameters({ kind: KINDS.find(({ name }) => name === chosen)?.key ?? "" })}
        />
      </div>
      {editing && <WatchlistEditor list={list} />}
      {wanted !== "" && list === null ? (
        <Empty title={`There is no watchlist ${wanted} in this browser`}>
          Lists are kept where they were made. Export takes them along as a file, Import takes them in.
        </Empty>
      ) : (
        <Quotes list={list} />
      )}
    </div>
  );
}

/** @param list null: all instruments */
function Quotes({ list }: { list: Watchlist | null }) {
  const keys = list?.columns ?? USUAL;
  const columns = COLUMNS.filter(({ key }) => keys.includes(key));
  const asked = [...columns.map(({ of }) => of).filter((of) => of !== null), "stillSince" as const];
  const rows = useQuotes(list?.instruments ?? "all", asked);
  const [search, kind, sort] = [parameter("search"), parameter("kind"), parameter("sort")];
  const listed = useMemo(() => {
    return ordered(list === null ? (rows ?? []) : asListed(rows ?? [], list.instruments), sort);
  }, [rows, sort, list]);
  const before = useRef<Search | null>(null);
  const { found } = useMemo(() => {
    return (before.current = searchOn(before.current, { rows: listed, search, kind }));
  }, [listed, search, kind]);
  if (rows === null) return trouble.value ? null : <Loading what="the quotes" />;
  const [first] = found;
  const areMixed = isMixed(found.map(({ sourceId }) => sourceId));
  return (
    <>
      <p class="found-of dim small">
        <span role="status">
          {thousands(found.length)} of {thousands(rows.length)}
        </span>{" "}
        {first && !areMixed && <OfOneSource source={first.source} name={first.sourceName} />}
      </p>
      {list && <NotStored list={list} rows={rows} />}
      {first ? (
        <QuotesTable
          rows={found}
          all={rows}
          columns={areMixed ? [...columns, SOURCE] : columns}
          sort={sort}
          chosen={list !== null}
        />
      ) : rows.length > 0 ? (
        <Empty title="Nothing matches">Search for a symbol, such as AAPL, or a part of a name.</Empty>
      ) : list ? (
        <Empty title="Nothing to show">Add instruments to the list with “Watchlists…” above.</Empty>
      ) : (
        <Empty title="No quotes yet">The first ones arrive within seconds of a job's first slot.</Empty>
      )}
    </>
  );
}

/** Instruments of a list that the archive has nothing of. */
function NotStored({ list, rows }: { list: Watchlist; rows: readonly QuoteRow[] }) {
  const stored = new Set(rows.map(({ instrument }) => instrument.toUpperCase()));
  const missing = list.instruments.filter((name) => !stored.has(name.toUpperCase()));
  return missing.length === 0 ? null : <p class="dim">Nothing is stored of {missing.join(", ")}.</p>;
}
