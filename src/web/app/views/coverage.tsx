/** Coverage: sessions x instruments, and why something is missing. */
import { useState } from "preact/hooks";
import type { CoverageCell, CoverageView } from "../../api/types.ts";
import { Await, Empty, SourceTag } from "../parts/notes.tsx";
import { Segments } from "../parts/segments.tsx";
import { type Field, isSame, Why } from "../parts/why.tsx";
import { nowMs } from "../lib/pageClock.ts";
import { heatLevel, type HeatRow, heatRows } from "../lib/heat.ts";
import { exchangeDateOf, shortDate } from "../lib/format.ts";
import { useApi } from "../lib/store.ts";
import { parameter, setParameters } from "../lib/router.ts";

const DAY_MS = 86_400_000;
const SPANS = [
  { name: "2 weeks", days: 14 },
  { name: "1 month", days: 31 },
  { name: "3 months", days: 92 },
];

/** Rows drawn at once. */
const MOST_ROWS = 150;

/** The view. */
export function CoveragePage() {
  const days = SPANS.find(({ name }) => name === parameter("span"))?.days ?? 14;
  const today = exchangeDateOf(nowMs.peek());
  const from = exchangeDateOf(nowMs.peek() - days * DAY_MS);
  const loaded = useApi<CoverageView>("/api/coverage", { from, to: today }, Math.floor(nowMs.value / 60_000));
  const [search, setSearch] = useState("");
  return (
    <div class="view">
      <div class="bar">
        <h1 tabIndex={-1}>Coverage</h1>
        <input
          type="search"
          aria-label="Search instruments"
          placeholder="Search symbol"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <Segments
          label="Span"
          names={SPANS}
          chosen={SPANS.find((span) => span.days === days)?.name}
          choose={(span) => setParameters({ span })}
        />
        <Legend />
      </div>
      <Await loaded={loaded} what="the coverage">
        {(view) =>
          view.cells.length === 0 ? (
            <Empty title="Nothing was due">The ledger fills with the first slot of a job.</Empty>
          ) : (
            <>
              {view.accounts.length > 0 && <Accounts accounts={view.accounts} />}
              <Heat view={view} search={search} />
            </>
          )
        }
      </Await>
    </div>
  );
}

/** What was due to each of several accounts. */
function Accounts({ accounts }: Pick<CoverageView, "accounts">) {
  return (
    <div class="scroll shares">
      <table aria-label="Accounts">
        <thead>
          <tr>
            <th scope="col" class="text">
              Account
            </th>
            <th scope="col">Due</th>
            <th scope="col">Stored</th>
            <th scope="col">Missed</th>
            <th scope="col" class="text">
              Why
            </th>
          </tr>
        </thead>
        <tbody>
          {accounts.map(({ account, source, expected, stored, missed, reasons }) => (
            <tr key={`${source} ${account}`}>
              <th scope="row" class="text">
                {account} {source === "simulated" && <SourceTag source="simulated" name="simulated" />}
              </th>
              <td>{expected}</td>
              <td>{stored}</td>
              <td>{missed}</td>
              <td class="text">
                {Object.entries(reasons)
                  .map(([reason, count]) => `${reason} ${count}`)
                  .join(", ")}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Legend() {
  return (
    <ul class="legend heat-legend" aria-label="Colours">
      <li data-level="full">all stored</li>
      <li data-level="high">≥ 95 %</li>
      <li data-level="part">≥ half</li>
      <li data-level="low">less</li>
      <li data-level="none">nothing</li>
    </ul>
  );
}

function Heat({ view, search }: { view: CoverageView; search: string }) {
  const [chosen, setChosen] = useState<Field | null>(null);
  const [focus, setFocus] = useState("0/0");
  const words = search.trim().toUpperCase();
  const found = heatRows(view).filter(({ instrument }) => instrument.toUpperCase().includes(words));
  const rows = found.slice(0, MOST_ROWS);
  const onKeyDown = (event: KeyboardEvent): void => {
    const [down, right] = MOVES[event.key] ?? [0, 0];
    const [row = 0, column = 0] = focus.split("/").map(Number);
    const to = `${clamp(row + down, rows.length)}/${clamp(column + right, view.dates.length)}`;
    if (to === focus || MOVES[event.key] === undefined) return;
    event.preventDefault();
    setFocus(to);
    document.querySelector<HTMLElement>(`[data-place="${to}"]`)?.focus();
  };
  return (
    <div class="heat-and-why">
      <div class="scroll" onKeyDown={onKeyDown} ref={showNewest}>
        <table
          class="heat"
          role="grid"
          aria-label="Sessions by instruments. Arrow keys move, Enter tells why."
        >
          <Dates dates={view.dates} />
          <tbody>
            {rows.map((row, place) => (
              <Row
                key={`${row.source} ${row.instrument}`}
                row={row}
                place={place}
                dates={view.dates}
                {...{ focus, setFocus, chosen, setChosen }}
              />
            ))}
          </tbody>
        </table>
        {found.length > rows.length && (
          <p class="dim">
            The worst {rows.length} of {found.length}: search for others.
          </p>
        )}
      </div>
      <Why field={chosen} cell={view.cells.find((cell) => isSame(cell, chosen)) ?? null} />
    </div>
  );
}

function Dates({ dates }: Pick<CoverageView, "dates">) {
  return (
    <thead>
      <tr>
        <th scope="col" class="text">
          Instrument
        </th>
        {dates.map(({ date, session }) => (
          <th
            key={date}
            scope="col"
            data-session={session ? "" : undefined}
            title={session ? undefined : "no session of the exchange"}
          >
            <span>{shortDate(date)}</span>
          </th>
        ))}
        <th scope="col">Stored</th>
      </tr>
    </thead>
  );
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** The newest dates are at the right end. */
function showNewest(element: HTMLDivElement | null): void {
  if (element && element.scrollLeft === 0) element.scrollLeft = element.scrollWidth;
}

function clamp(value: number, count: number): number {
  return Math.max(0, Math.min(count - 1, value));
}

function Row({
  row,
  place,
  dates,
  focus,
  setFocus,
  chosen,
  setChosen,
}: {
  row: HeatRow;
  place: number;
  dates: CoverageView["dates"];
  focus: string;
  setFocus: (place: string) => void;
  chosen: Field | null;
  setChosen: (field: Field) => void;
}) {
  const { instrument, source } = row;
  return (
    <tr data-instrument={row.instrument}>
      <th scope="row" class="text">
        {row.instrument} {row.source === "simulated" && <SourceTag source="simulated" name="simulated" />}
      </th>
      {row.cells.map((cell, column) => {
        const at = `${place}/${column}`;
        const field = { date: dates[column]?.date ?? "", instrument, source };
        return (
          <td key={at} role="gridcell" aria-selected={isSame(field, chosen)}>
            <button
              type="button"
              data-place={at}
              data-level={cell ? heatLevel(cell) : "empty"}
              tabIndex={at === focus ? 0 : -1}
              aria-label={labelOf(field, cell)}
              onFocus={() => setFocus(at)}
              onClick={() => setChosen(field)}
            >
              {cell && cell.missed > 0 ? compact(cell.missed) : ""}
            </button>
          </td>
        );
      })}
      <td>{((100 * (row.expected - row.missed)) / Math.max(1, row.expected)).toFixed(1)} %</td>
    </tr>
  );
}

function labelOf({ instrument, date }: Field, cell: CoverageCell | null): string {
  if (cell === null) return `${instrument} ${shortDate(date)}: nothing was due`;
  const missed = cell.missed > 0 ? `${compact(cell.missed)}, ` : "";
  return `${instrument} ${shortDate(date)}: ${missed}${cell.stored} of ${cell.expected} stored`;
}

function compact(count: number): string {
  return count < 1_000 ? `−${count}` : `−${Math.round(count / 1_000)}k`;
}
