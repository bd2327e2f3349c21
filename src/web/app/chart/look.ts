/** How charts look: the style sheet's colours and fonts, for what is drawn on a canvas. */

/** The font of a chart's axes. */
export const FONT = '"IBM Plex Mono", ui-monospace, monospace';

/**
 * A chart's layout from its beginning. The library's logo would bring an inline style, which the security policy refuses; the
 * footer names and links the library instead.
 */
export const LAYOUT = { attributionLogo: false, fontFamily: FONT, fontSize: 11 };

const COLOR_NAMES = [
  "ink",
  "dim",
  "line",
  "up",
  "down",
  "accent",
  "band",
  "shade",
  "volume",
  "sim",
  "sim-faint",
  "hole",
] as const;

/** The colours of the style sheet that charts have, by the names of their variables. */
export type ChartColors = Record<(typeof COLOR_NAMES)[number], string>;

export function readColors(element: HTMLElement): ChartColors {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colors = Object.fromEntries(COLOR_NAMES.map((name) => [name, read(name)])) as ChartColors;
  probe.remove();
  return colors;
}

/** The part of a chart's options that follows the theme. */
export function lookOf({ dim, line, band }: ChartColors) {
  return {
    layout: {
      background: { color: "transparent" },
      textColor: dim,
      panes: { separatorColor: line, separatorHoverColor: band },
    },
    grid: { vertLines: { color: line }, horzLines: { color: line } },
    rightPriceScale: { borderColor: line },
    timeScale: { borderColor: line },
    // No colour that a line has.
    crosshair: {
      vertLine: { color: dim, labelBackgroundColor: dim },
      horzLine: { color: dim, labelBackgroundColor: dim },
    },
  };
}
