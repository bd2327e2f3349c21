/** The style sheet's colours, for what is drawn on a canvas. */

/** Names of the variables a chart is drawn with. */
export type ChartColors = Record<
  "ink" | "dim" | "line" | "panel" | "up" | "down" | "accent" | "band" | "shade" | "volume" | "sim-faint",
  string
>;

/** Reads them as they are at the moment, light or dark. */
export function readColors(element: HTMLElement): ChartColors {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colors: ChartColors = {
    ...{ ink: read("ink"), dim: read("dim"), line: read("line"), panel: read("panel"), up: read("up") },
    ...{ down: read("down"), accent: read("accent"), band: read("band"), shade: read("shade") },
    ...{ volume: read("volume"), "sim-faint": read("sim-faint") },
  };
  probe.remove();
  return colors;
}
