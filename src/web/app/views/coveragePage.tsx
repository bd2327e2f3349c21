/** Coverage: sessions x instruments, why something is missing, and the way to the chart. */
import { useMemo } from "preact/hooks";
import type { CoverageView } from "../../../archive/ask/dashboardTypes.ts";
import { HeatMap, Why } from "../parts/heatMap.tsx";
import { Await, Empty, OfOneSource, SourceTag } from "../parts/notes.tsx";
import { SearchField, Segments } from "../parts/controls.tsx";
import { thousands } from "../../../ground/figures.ts";
import { DAY_MS, exchangeDateOf } from "../lib/format.ts";
import { foundRows, unpacked } from "../lib/heat.ts";
import { isMixed } from "../../api/quoteTable.ts";
import { nowMs } from "../lib/pageClock.ts";
import { reasonOf } from "../lib/reasons.ts";
import { useNews } from "../lib/useApi.ts";
import { parameter, setParameters } from "../lib/router.ts";

const SPANS = [
  { name: "2 weeks", days: 14 },
  { name: "1 month", days: 31 },
  { name: "3 months", days: 92 },
] as const;

export function CoveragePage() {
  const span = SPANS.find(({ name }) => name === parameter("span")) ?? SPANS[0];
  const [from, to] = [span.days, 0].map((days) => exchangeDateOf(nowMs.peek() - days * DAY_MS));
  const loaded = useNews<CoverageView>("api/coverage", { from, to } as Record<string, string>);
  const missing = parameter("missing") === "true";
  return (
    <div class="fills">
      <div class="bar">
        <h1 tabIndex={-1}>Coverage</h1>
        <SearchField placeholder="Search symbol" />
        <Segments
          label="Span"
          names={SPANS}
          chosen={span.name}
          choose={(name) => setParameters({ span: name === SPANS[0].name ? "" : name })}
        />
        <button aria-pressed={missing} onClick={() => setParameters({ missing: missing ? "" : "true" })}>
          Only what misses something
        </button>
        <ul class="legend heat-legend row small dim" aria-label="Colours">
          <li data-level="full">all stored</li>
          <li data-level="high">≥ 95 %</li>
          <li data-level="part">less</li>
          <li data-level="none">nothing</li>
        </ul>
      </div>
      <Await loaded={loaded} what="the coverage">
        {(view) =>
          view.rows.length === 0 ? (
            <Empty title="Nothing was due">The ledger fills with the first slot of a job.</Empty>
          ) : (
            <>
              {view.accounts.length > 0 && <Accounts accounts={view.accounts} />}
              <Heat view={view} search={parameter("search")} missing={missing} />
            </>
          )
        }
      </Await>
    </div>
  );
}

function Accounts({ accounts }: Pick<CoverageView, "accounts">) {
  const mixed = isMixed(accounts.map(({ source }) => source));
  return (
    <ul class="below small" aria-label="Accounts">
      {accounts.map(({ account, source, expected, stored, missed, reasons }) => (
        <li key={`${source} ${account}`}>
          <b>{account}</b> {mixed && <SourceTag source={source} name={source} />} {thousands(stored)} of{" "}
          {thousands(expected)} stored, {thousands(missed)} missing
          {Object.entries(reasons).map(
            ([reason, count]) => `; ${reasonOf(reason).title} ${thousands(count)}`,
          )}
        </li>
      ))}
    </ul>
  );
}

function Heat({ view, search, missing }: { view: CoverageView; search: string; missing: boolean }) {
  const { dates, sourceIds } = view;
  const rows = useMemo(() => foundRows(view.rows, search, missing), [view, search, missing]);
  const mixed = isMixed(rows.map(({ source }) => source));
  const [instrument, date, source] = ["instrument", "date", "source"].map(parameter);
  const row = view.rows.find((each) => each.instrument === instrument && (!source || source === each.source));
  const column = dates.findIndex((each) => each.date === date);
  const [first] = rows;
  if (!first)
    return (
      <Empty title="No instrument is found">
        Search for less, or let also those be shown that miss nothing.
      </Empty>
    );
  // A date without an instrument is no cell.
  const chosen = row && date && column >= 0 ? { instrument: row.instrument, date, source: row.source } : null;
  return (
    <>
      {!mixed && <OfOneSource source={first.source} name={first.source} />}
      <div class="heat-and-why">
        <HeatMap rows={rows} dates={dates} mixed={mixed} chosen={chosen} />
        <Why
          field={chosen}
          cell={chosen && row ? unpacked(row.cells[column]) : null}
          sourceId={row && sourceIds[row.source]}
        />
      </div>
    </>
  );
}
