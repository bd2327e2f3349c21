/** What is chosen of a chain: which expiration, which columns and strikes, and when. The address holds it. */
import { computed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ChainKey, ChainView, TermPoint } from "../../../archive/ask/dashboardTypes.ts";
import { counted, percent, price, thousands } from "../../../ground/figures.ts";
import { SET_NAMES, type SetName, stopAt, stopsOf } from "../lib/chainColumns.ts";
import { DAY_MS, dayAndTime, exchangeDateOf } from "../lib/format.ts";
import { slim } from "../lib/pageLook.ts";
import { nowMs } from "../lib/pageClock.ts";
import { href, parameter, setParameters } from "../lib/router.ts";
import { type ListedSide, useInMiddle } from "./chainTable.tsx";
import { Segments, Select } from "./controls.tsx";

const SIDES = ["both", "calls", "puts"] as const satisfies readonly ListedSide[];

export const choices = (): { set: SetName; side: ListedSide; all: boolean } => ({
  set: SET_NAMES.find((name) => name === parameter("set")) ?? "prices",
  side: SIDES.find((name) => name === parameter("side")) ?? "both",
  all: parameter("strikes") === "all",
});

type ChoicesProps = {
  /** Of the routes that tell of the chain. */
  query: Record<string, string>;
  /** Expirations that may stand beside the chosen one; none where there is no room. */
  others: readonly ChainKey[];
};

export function Choices({ query, others }: ChoicesProps) {
  const { set, side, all } = choices();
  const wanted = parameter("beside");
  return (
    <>
      <button aria-pressed={all} onClick={() => setParameters({ strikes: all ? "" : "all" })}>
        All strikes
      </button>
      {others.length > 0 && (
        <Select
          label="Expiration beside it"
          value={others.some(({ expiration }) => expiration === wanted) || wanted === "none" ? wanted : ""}
          options={[
            { value: "", name: "beside it: the next" },
            ...others.map(({ expiration }) => ({ value: expiration, name: `beside it: ${expiration}` })),
            { value: "none", name: "one alone" },
          ]}
          choose={(beside) => setParameters({ beside })}
        />
      )}
      <a class="button" href={href("api/chain.csv", query)} download>
        CSV
      </a>
      <Segments
        label="Columns"
        names={SET_NAMES.map((name) => ({ name }))}
        chosen={set}
        choose={(to) => setParameters({ set: to === "prices" ? "" : to })}
      />
      {slim.value && (
        <Segments
          label="Sides"
          names={SIDES.map((name) => ({ name }))}
          chosen={side}
          choose={(to) => setParameters({ side: to === "both" ? "" : to })}
        />
      )}
    </>
  );
}

type TabsProps = {
  expirations: readonly ChainKey[];
  chosen: ChainKey;
  points: readonly TermPoint[] | null;
};

export function Tabs({ expirations, chosen, points }: TabsProps) {
  const choose = (key: ChainKey | undefined): void => {
    if (!key) return;
    setParameters({ expiration: key.expiration });
    document.getElementById(`tab-${key.expiration}`)?.focus();
  };
  const at = expirations.indexOf(chosen);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    choose(expirations[(at + step + expirations.length) % expirations.length]);
  };
  return (
    <div
      class="tabs"
      role="tablist"
      aria-label="Expirations"
      onKeyDown={onKeyDown}
      ref={useInMiddle("[aria-selected=true]", `${at} ${points !== null}`)}
    >
      {expirations.map((key) => (
        <button
          key={key.expiration}
          id={`tab-${key.expiration}`}
          role="tab"
          aria-selected={key === chosen}
          aria-controls="chain"
          tabIndex={key === chosen ? 0 : -1}
          title={counted(key.contracts, "contract")}
          onClick={() => choose(key)}
        >
          {key.expiration}
          <Outlook of={key} points={points} />
        </button>
      ))}
    </div>
  );
}

const today = computed(() => exchangeDateOf(nowMs.value));

/** The exchange date at which the chain is shown. */
export function shownDate(): string {
  const at = parameter("at");
  return at === "" ? today.value : exchangeDateOf(Date.parse(at));
}

/** Days until an expiration from the date that is shown, and its implied move: `22 d ±4.19 %`. */
export function Outlook({ of, points }: { of: ChainKey; points: TabsProps["points"] }) {
  const days = (Date.parse(of.expiration) - Date.parse(shownDate())) / DAY_MS;
  const point = points?.find(({ expiration }) => expiration === of.expiration);
  return (
    <small class="mono">
      {days < 0 ? "expired" : `${thousands(days)} d`}
      {point && point.move !== null && (
        <span
          title={`Implied move: ±${price(point.straddle)}, the middle prices of call and put at ${point.strike} added`}
        >
          {" "}
          ±{percent(100 * point.move)}
        </span>
      )}
    </small>
  );
}

/** The slider stands still this long before its instant is asked for, ms. */
const STILL_MS = 120;

/** The instant that the address holds. Moving the slider leaves no steps behind; going back to now is one. */
export function TimeSlider({ spans }: Pick<ChainView, "spans">) {
  const [moving, setMoving] = useState<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const stops = useMemo(() => stopsOf(spans), [spans]);
  const at = moving ?? parameter("at");
  const last = Math.max(1, stops.length - 1);
  const told = at === "" ? "now" : dayAndTime(at, { seconds: false });
  const move = (stop: number): void => {
    const to = stop < last ? new Date(stops[stop] ?? NaN).toISOString() : "";
    setMoving(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setMoving(null);
      setParameters({ at: to }, { step: false });
    }, STILL_MS);
  };
  return (
    <div class="time row small">
      <label for="time">New York time</label>
      <input
        id="time"
        type="range"
        min={0}
        max={last}
        value={at === "" ? last : stopAt(stops, Date.parse(at))}
        disabled={stops.length < 2}
        aria-valuetext={told}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <output for="time" class="mono">
        {told}
      </output>
      {at !== "" && <button onClick={() => setParameters({ at: "" })}>Now</button>}
    </div>
  );
}
