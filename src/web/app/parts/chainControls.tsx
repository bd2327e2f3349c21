/** What is chosen of a chain: which contracts, which columns, and when. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ChainView } from "../../../archive/ask/dashboardTypes.ts";
import { COLUMNS, type Column } from "../lib/chainColumns.ts";
import { type ContractFilter, instantOfStop, stopCount, stopOfInstant } from "../lib/strikes.ts";
import { exchangeMoment } from "../lib/format.ts";
import { parameter, setParameters } from "../lib/router.ts";
import { Select } from "./controls.tsx";

const WITHIN = ["2", "5", "10", "20"];
const VOLUMES = ["1", "10", "100", "1000"];

export function filterOf(): ContractFilter {
  const within = Number(parameter("within"));
  const volume = Number(parameter("volume"));
  return { within: within > 0 ? within : null, volume: volume > 0 ? volume : 0 };
}

export function Filters() {
  return (
    <>
      <Choice name="within" label="Moneyness" choices={WITHIN} text={(value) => `within ${value} %`} />
      <Choice name="volume" label="Volume" choices={VOLUMES} text={(value) => `at least ${value}`} />
    </>
  );
}

type ChoiceProps = {
  name: string;
  label: string;
  choices: readonly string[];
  text: (value: string) => string;
};

/** One parameter of the address. One that is none of the choices stands among them. */
function Choice({ name, label, choices, text }: ChoiceProps) {
  const value = Number(parameter(name)) > 0 ? parameter(name) : "";
  const all = value === "" || choices.includes(value) ? choices : [...choices, value];
  return (
    <label class="choice row small dim">
      {label}
      <Select
        value={value}
        options={[{ value: "", name: "any" }, ...all.map((each) => ({ value: each, name: text(each) }))]}
        choose={(to) => setParameters({ [name]: to })}
      />
    </label>
  );
}

export function ColumnChoice({ shown }: { shown: readonly Column[] }) {
  const keys = shown.map(({ key }) => key);
  const choose = (key: string, on: boolean): void =>
    setParameters({
      columns: COLUMNS.map((each) => each.key)
        .filter((each) => (each === key ? on : keys.includes(each)))
        .join(","),
    });
  return (
    <details class="menu">
      <summary class="button">Columns</summary>
      <div class="box popup">
        {COLUMNS.map(({ key, name, title }) => (
          <label class="row" key={key} title={title}>
            <input
              type="checkbox"
              checked={keys.includes(key)}
              disabled={keys.length === 1 && keys[0] === key}
              onChange={(event) => choose(key, event.currentTarget.checked)}
            />
            {name}
          </label>
        ))}
        <button disabled={parameter("columns") === ""} onClick={() => setParameters({ columns: "" })}>
          The usual ones
        </button>
      </div>
    </details>
  );
}

/** The slider stands still this long before its instant is asked for, ms. */
const STILL_MS = 120;

/** The instant that the address holds. Moving the slider leaves no steps behind; going back to now is one. */
export function TimeSlider({ spans }: Pick<ChainView, "spans">) {
  const [moving, setMoving] = useState<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const at = moving ?? parameter("at");
  const last = Math.max(1, stopCount(spans) - 1);
  const move = (stop: number): void => {
    const to = instantOfStop(spans, stop) ?? "";
    setMoving(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setMoving(null);
      setParameters({ at: to }, { step: false });
    }, STILL_MS);
  };
  return (
    <>
      <label for="time">Chain at</label>
      <input
        id="time"
        type="range"
        min={0}
        max={last}
        value={at === "" ? last : stopOfInstant(spans, at)}
        disabled={stopCount(spans) < 2}
        aria-valuetext={at === "" ? "the newest" : exchangeMoment(at)}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <output for="time">{at === "" ? "now, live" : exchangeMoment(at)}</output>
      <button disabled={at === ""} onClick={() => setParameters({ at: "" })}>
        Now
      </button>
    </>
  );
}
