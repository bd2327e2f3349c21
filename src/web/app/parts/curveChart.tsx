/** A chart of curves, whose library is loaded when the first one is drawn, and what is below the pointer, in words. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { CurveChart as Chart } from "../chart/curveChart.ts";
import type { Curve } from "../lib/curves.ts";
import { shownDark } from "../lib/theme.ts";

/**
 * @param options.label says to a reader by ear what is drawn
 * @param options.decimals of the axis' numbers
 * @param options.tell what is below the pointer
 */
export function CurveChart({
  label,
  curves,
  xName,
  decimals,
  tell,
}: {
  label: string;
  curves: readonly Curve[];
  xName: string;
  decimals: number;
  tell: (x: number) => string;
}) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<Promise<Chart> | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  useEffect(() => {
    const host = element.current;
    if (!host) return;
    const opened = import("../chart/curveChart.ts").then((drawn) => new drawn.CurveChart(host, setPointed));
    chart.current = opened;
    return () => void opened.then((each) => each.remove());
  }, []);
  useEffect(() => {
    void chart.current?.then((each) => {
      each.show(curves, decimals);
      element.current?.setAttribute("data-drawn", "");
    });
  }, [curves, decimals, shownDark.value]);
  const shown = curves.some(({ points }) => points.some(({ x }) => x === pointed)) ? pointed : null;
  return (
    <>
      <div class="curves" ref={element} role="img" aria-label={label} />
      <p class="told dim">{shown === null ? xName : tell(shown)}</p>
    </>
  );
}
