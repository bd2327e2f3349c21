/** Quotes: the newest ones of all instruments, live, sortable, searchable. What is chosen stands in the address. */
import { useMemo } from "preact/hooks";
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { thousands } from "../../../ground/figures.ts";
import { harmless } from "../../../read/formula.ts";
import { csvName, csvText } from "../../api/csvText.ts";
import { isMixed } from "../../api/quoteTable.ts";
import { SearchField, Segments } from "../parts/controls.tsx";
import { Await, Empty, OfOneSource } from "../parts/notes.tsx";
import { QuotesTable } from "../parts/quotesTable.tsx";
import { useQuotes } from "../lib/newest.ts";
import { parameter, setParameters } from "../lib/router.ts";
import { ASKED, columnsOf, matching, ordered } from "../lib/watchColumns.ts";

const KINDS = [{ name: "All" }, { name: "Securities" }, { name: "Options" }];

export function QuotesPage() {
  const loaded = useQuotes({ columns: ASKED.join() });
  const kind = parameter("kind");
  return (
    <div class="fills">
      <div class="bar">
        <h1 tabIndex={-1}>Quotes</h1>
        <SearchField placeholder="Search symbol or name" />
        <Segments
          label="Kind"
          names={KINDS}
          chosen={KINDS.find(({ name }) => name.toLowerCase() === (kind || "all"))?.name}
          choose={(name) => setParameters({ kind: name === "All" ? "" : name.toLowerCase() })}
        />
      </div>
      <Await loaded={loaded} what="the quotes">
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No quotes yet">The first ones arrive within seconds of a job's first slot.</Empty>
          ) : (
            <Found rows={rows} kind={kind} />
          )
        }
      </Await>
    </div>
  );
}

function Found({ rows, kind }: { rows: readonly QuoteRow[]; kind: string }) {
  const [search, sort] = [parameter("search"), parameter("sort")];
  const all = useMemo(() => ordered(rows, sort), [rows, sort]);
  const found = useMemo(() => matching(all, search, kind), [all, search, kind]);
  const [first] = found;
  const areMixed = isMixed(found.map(({ sourceId }) => sourceId));
  return (
    <>
      <p class="found-of row dim small">
        <span role="status">
          {thousands(found.length)} of {thousands(rows.length)}
        </span>
        {first && !areMixed && <OfOneSource source={first.source} name={first.sourceName} />}
        <button class="plain" disabled={!first} onClick={() => giveCsv(found)}>
          CSV
        </button>
      </p>
      {first ? (
        <QuotesTable rows={found} all={all} columns={columnsOf(kind, areMixed)} sort={sort} />
      ) : (
        <Empty title="Nothing matches">Search for a symbol, such as AAPL, or a part of a name.</Empty>
      )}
    </>
  );
}

/** A file of the rows that are shown, in their order, with all digits: the browser has them all. */
function giveCsv(rows: readonly QuoteRow[]): void {
  const columns = ["instrument", "source", "sourceName", "delayed", "observedAt", ...ASKED] as const;
  const heading = columns.map((key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const numbers = /^-?[\d.]+$/;
  const lines = rows.map((row) =>
    columns.map((key) => {
      const text = row[key] === null ? null : String(row[key]);
      return text === null || numbers.test(text) ? text : harmless(text);
    }),
  );
  const source = rows.some((row) => row.source === "simulated") ? "simulated" : "account";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csvText(heading, lines)], { type: "text/csv" }));
  link.download = csvName(["quotes"], source);
  link.click();
  // The browser has taken it over by the next turn.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
