/** The chart on the page; its library is loaded when the first one is drawn. */
import { useEffect, useRef } from "preact/hooks";
import type { BarsView } from "../../api/types.ts";
import type { Chart } from "../chart/chart.ts";
import { nowMs } from "../lib/clock.ts";
import { shownDark } from "../lib/theme.ts";

/** @param name of what is drawn; another one, another range or width begins anew */
export function BarsChart({ view, simulated, name }: { view: BarsView; simulated: boolean; name: string }) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<Promise<Chart> | null>(null);
  const fitted = useRef("");
  const dark = shownDark.value;
  useEffect(() => {
    const host = element.current;
    if (!host) return;
    const opened = import("../chart/chart.ts").then(({ openChart }) => openChart(host));
    chart.current = opened;
    return () => void opened.then((each) => each.remove());
  }, []);
  useEffect(() => {
    void chart.current?.then((each) => {
      each.show({ view, simulated, nowMs: nowMs.peek() }, { fit: fitted.current !== name });
      fitted.current = name;
      element.current?.setAttribute("data-drawn", name);
    });
  }, [view, simulated, name]);
  useEffect(() => void chart.current?.then((each) => each.repaint()), [dark]);
  return (
    <div
      class="chart"
      ref={element}
      role="img"
      aria-label={`Chart of ${name}, ${view.bars.length} bars. The table below has the same figures.`}
    />
  );
}
