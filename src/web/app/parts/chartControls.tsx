/** What a chart is chosen with. The address holds every choice, and each is a step for Back. */
import { INTERVALS } from "../../../archive/ask/widths.ts";
import type { Interval } from "../../../archive/ask/dashboardTypes.ts";
import type { Shape } from "../chart/chart.ts";
import { type ChosenRange, isDateText, RANGES } from "../lib/ranges.ts";
import { setParameters } from "../lib/router.ts";
import { DateField, Segments, Select } from "./controls.tsx";

type ChartControlsProps = { range: ChosenRange; interval: Interval; shape: Shape; csv: string };

const SHAPES = [{ name: "Candles" }, { name: "Line", label: "the closes as a line" }] as const;

export function ChartControls({ range, interval, shape: { line, log }, csv }: ChartControlsProps) {
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

/** A free range, in exchange dates. */
function Dates({ range }: { range: ChosenRange }) {
  const dates = "name" in range ? { from: "", to: "" } : range;
  return (
    <>
      {(["from", "to"] as const).map((end) => (
        <DateField
          key={end}
          label={end === "from" ? "From" : "To"}
          form="date"
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
