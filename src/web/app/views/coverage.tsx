/** Coverage: sessions x instruments, why something is missing, and the way to the chart. */
import { useMemo, useRef } from "preact/hooks";
import type { AccountCoverage, CoverageView, CoverageRow } from "../../../archive/ask/dashboardTypes.ts";
import { HeatMap, labelOf } from "../parts/heatMap.tsx";
import { Await, Empty, OfOneSource, SourceTag } from "../parts/notes.tsx";
import { SearchField, Segments } from "../parts/controls.tsx";
import { Table, type TableColumn } from "../parts/table.tsx";
import { Why, FieldFacts } from "../parts/why.tsx";
import { thousands } from "../../../figures.ts";
import { DAY_MS, exchangeDateOf, MINUTE_MS } from "../lib/format.ts";
import { foundRows, unpacked, heatLevel, storedShare, sumOf } from "../lib/heat.ts";
import { isMixed } from "../../api/quoteTable.ts";
import { narrow } from "../lib/narrow.ts";
import { nowMs, tick } from "../lib/pageClock.ts";
import { useApi } from "../lib/useApi.ts";
import { parameter, setParameters } from "../lib/router.ts";
import { slotOf, useRowWindow } from "../lib/rowWindow.ts";

const SPANS = [
  { name: "2 weeks", days: 14 },
  { name: "1 month", days: 31 },
  { name: "3 months", days: 92 },
];

const minute = tick(MINUTE_MS);

export function CoveragePage() {
  const span = SPANS.find(({ name }) => name === parameter("span")) ?? SPANS[0];
  const today = exchangeDateOf(nowMs.peek());
  const from = exchangeDateOf(nowMs.peek() - (span?.days ?? 14) * DAY_MS);
  const loaded = useApi<CoverageView>("/api/coverage", { from, to: today }, minute.value);
  const missing = parameter("missing") === "true";
  return (
    <div class="fills">
      <div class="bar">
        <h1 tabIndex={-1}>Coverage</h1>
        <SearchField placeholder="Search symbol" />
        <Segments
          label="Span"
          names={SPANS}
          chosen={span?.name}
          choose={(name) => setParameters({ span: name === SPANS[0]?.name ? "" : name })}
        />
        <button aria-pressed={missing} onClick={() => setParameters({ missing: missing ? "" : "true" })}>
          Only what misses something
        </button>
        <Legend />
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
  const columns: TableColumn<AccountCoverage>[] = [
    {
      name: "Account",
      kind: "text",
      names: true,
      show: ({ account, source }) => (
        <>
          {account} {mixed && <SourceTag source={source} name={source} />}
        </>
      ),
    },
    { name: "Due", show: ({ expected }) => thousands(expected) },
    { name: "Stored", show: ({ stored }) => thousands(stored) },
    { name: "Missed", show: ({ missed }) => thousands(missed) },
    {
      name: "Why",
      kind: "text",
      show: ({ reasons }) =>
        Object.entries(reasons)
          .map(([reason, count]) => `${reason} ${thousands(count)}`)
          .join(", "),
    },
  ];
  return (
    <div class="below">
      <Table
        label="Accounts"
        scroll="wide"
        columns={columns}
        rows={accounts}
        keyOf={({ source, account }) => `${source} ${account}`}
      />
    </div>
  );
}

function Legend() {
  return (
    <ul class="legend heat-legend row small dim" aria-label="Colours">
      <li data-level="full">all stored</li>
      <li data-level="high">≥ 95 %</li>
      <li data-level="part">≥ half</li>
      <li data-level="low">less</li>
      <li data-level="none">nothing</li>
    </ul>
  );
}

function Heat({ view, search, missing }: { view: CoverageView; search: string; missing: boolean }) {
  const { dates, sourceIds } = view;
  const rows = useMemo(() => foundRows(view, { search, missing }), [view, search, missing]);
  const mixed = isMixed(rows.map(({ source }) => source));
  const [instrument, date] = [parameter("instrument"), parameter("date")];
  const row = view.rows.find(
    (each) => each.instrument === instrument && ["", each.source].includes(parameter("source")),
  );
  const sourceId = row && sourceIds[row.source];
  if (narrow.value && row) return <HeatDays row={row} dates={dates} sourceId={sourceId} />;
  if (rows.length === 0)
    return (
      <Empty title="No instrument is found">
        Search for less, or let also those be shown that miss nothing.
      </Empty>
    );
  const first = !mixed && rows[0];
  const ofOne = first && <OfOneSource source={first.source} name={first.source} />;
  if (narrow.value)
    return (
      <>
        {ofOne}
        <HeatList rows={rows} dates={dates} mixed={mixed} />
      </>
    );
  const column = dates.findIndex((each) => each.date === date);
  // A date without an instrument is no field.
  const chosen = row && column >= 0 ? { instrument, date, source: row.source } : null;
  return (
    <>
      {ofOne}
      <div class="heat-and-why">
        <HeatMap rows={rows} dates={dates} mixed={mixed} chosen={chosen} />
        <Why field={chosen} cell={chosen && row ? unpacked(row.cells[column]) : null} sourceId={sourceId} />
      </div>
    </>
  );
}

/** Height of a line, pixels; coverage.css has the same. */
const LINE_HEIGHT = 52;

type Dates = CoverageView["dates"];

type HeatListProps = { rows: readonly CoverageRow[]; dates: Dates; mixed: boolean };

/** Where it is narrow: a line for each instrument. Of thousands, those that are seen are drawn. */
function HeatList({ rows, dates, mixed }: HeatListProps) {
  const list = useRef<HTMLUListElement>(null);
  const { from, to } = useRowWindow(list, rows.length);
  return (
    <div class="scroll heat-scroll">
      <ul
        ref={list}
        class="heat-list mono"
        aria-label="Instruments, the worst first"
        style={{ paddingTop: `${from * LINE_HEIGHT}px`, height: `${rows.length * LINE_HEIGHT}px` }}
      >
        {rows.slice(from, to).map((row, index) => (
          <li
            key={slotOf(from + index, { from, to })}
            data-row={from + index}
            aria-posinset={from + index + 1}
            aria-setsize={rows.length}
            data-instrument={row.instrument}
          >
            <button
              onClick={() => setParameters({ instrument: row.instrument, source: row.source, date: "" })}
            >
              <span>
                {row.instrument} {mixed && <SourceTag source={row.source} name={row.source} />}
              </span>
              <b>{storedShare(sumOf(row))}</b>
              <Strip row={row} dates={dates} />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The fields of a row, too small for a finger: its line tells them one by one. */
function Strip({ row, dates }: { row: CoverageRow; dates: Dates }) {
  return (
    <i class="strip" aria-hidden="true">
      {row.cells.map((packed, column) => {
        const cell = unpacked(packed);
        return <i key={dates[column]?.date} data-level={cell ? heatLevel(cell) : "empty"} />;
      })}
    </i>
  );
}

type HeatDaysProps = { row: CoverageRow; dates: Dates; sourceId: number | undefined };

/** The dates of one instrument, where a map has no room, the newest first; the chosen one with its reasons. */
function HeatDays({ row, dates, sourceId }: HeatDaysProps) {
  const { instrument, source } = row;
  const chosen = parameter("date");
  const days = dates.map(({ date }, column) => ({ date, cell: unpacked(row.cells[column]) })).reverse();
  return (
    <>
      <div class="bar">
        <button onClick={() => setParameters({ instrument: "", source: "", date: "" })}>
          ‹ All instruments
        </button>
        <h2 class="of-days">
          {instrument} <OfOneSource source={source} name={source} />
        </h2>
      </div>
      <ul class="heat-days mono" aria-label={`Dates of ${instrument}`}>
        {days.map(({ date, cell }) => (
          <li key={date}>
            <button
              data-level={cell ? heatLevel(cell) : "empty"}
              aria-expanded={date === chosen}
              onClick={() => setParameters({ date: date === chosen ? "" : date })}
            >
              {labelOf(date, cell)}
            </button>
            {date === chosen && (
              <div class="day-facts">
                <FieldFacts field={{ date, instrument, source }} cell={cell} sourceId={sourceId} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
