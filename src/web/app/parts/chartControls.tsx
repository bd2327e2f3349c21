/** What a chart is chosen with. The address holds every choice, and each is a step for Back. */
import { useState } from "preact/hooks";
import { INTERVALS } from "../../../archive/ask/widths.ts";
import {
  type Indicator,
  indicatorKey,
  indicatorLabel,
  indicatorsOf,
  LONGEST,
  MOST_AVERAGES,
} from "../../api/indicators.ts";
import { joinNames, MOST_COMPARED } from "../../api/nameList.ts";
import type { Interval } from "../../../archive/ask/dashboardTypes.ts";
import { narrow } from "../lib/narrow.ts";
import { type ChosenRange, isDateText, RANGES } from "../lib/ranges.ts";
import { setParameters } from "../lib/router.ts";
import { DateField, Segments, Select } from "./controls.tsx";
import { InstrumentSearch } from "./search.tsx";

export type Choice = {
  range: ChosenRange;
  interval: Interval;
  compare: readonly string[];
  indicators: readonly Indicator[];
};

/** What stands in the address for the instruments or indicators that are chosen. */
export function setCompare(names: readonly string[]): void {
  setParameters({ compare: joinNames(names) });
}

export function setIndicators(indicators: readonly Indicator[]): void {
  setParameters({ indicators: indicators.map(indicatorKey).join(",") });
}

type ChartControlsProps = { choice: Choice; instrument: string; csv: string; savePicture: () => void };

/** @param instrument the one that is shown: it is not compared with itself */
export function ChartControls({ choice, instrument, csv, savePicture }: ChartControlsProps) {
  const [open, setOpen] = useState(false);
  const { range, interval, compare } = choice;
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
      {narrow.value && (
        <button class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          More
        </button>
      )}
      <div class="folded" hidden={narrow.value && !open}>
        <Dates range={range} />
        <Compare compare={compare} instrument={instrument} />
        <Indicators indicators={choice.indicators} />
        <span class="files row">
          <button onClick={savePicture}>PNG</button>
          <a class="button" download href={csv}>
            CSV
          </a>
        </span>
      </div>
    </div>
  );
}

function Compare({ compare, instrument }: { compare: readonly string[]; instrument: string }) {
  if (compare.length >= MOST_COMPARED) return <span class="dim">{MOST_COMPARED} are compared</span>;
  return (
    <InstrumentSearch
      key={compare.join()}
      label="Compare with an instrument"
      placeholder="Compare with"
      choose={(name) => {
        if (name !== instrument && !compare.includes(name)) setCompare([...compare, name]);
      }}
    />
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

const SWITCHES: readonly Indicator[] = [{ name: "vwap" }, { name: "spread" }];

function Indicators({ indicators }: { indicators: readonly Indicator[] }) {
  const keys = indicators.map(indicatorKey);
  return (
    <>
      {SWITCHES.map((indicator) => {
        const on = keys.includes(indicator.name);
        return (
          <button
            key={indicator.name}
            aria-pressed={on}
            onClick={() =>
              setIndicators(
                on ? indicators.filter(({ name }) => name !== indicator.name) : [...indicators, indicator],
              )
            }
          >
            {indicatorLabel(indicator)}
          </button>
        );
      })}
      {keys.filter((key) => key.includes("ma")).length < MOST_AVERAGES && (
        <form
          class="average row"
          onSubmit={(event) => {
            event.preventDefault();
            const form = new FormData(event.currentTarget);
            setIndicators(
              indicatorsOf([...keys, `${String(form.get("kind"))}${String(form.get("length"))}`].join(",")),
            );
          }}
        >
          <select name="kind" aria-label="Kind of moving average">
            <option value="sma">SMA</option>
            <option value="ema">EMA</option>
          </select>
          <input
            name="length"
            type="number"
            aria-label="Length in bars"
            min={1}
            max={LONGEST}
            step={1}
            required
            defaultValue="20"
          />
          <button type="submit">Add</button>
        </form>
      )}
    </>
  );
}
