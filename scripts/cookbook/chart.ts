/** A picture of docs/cookbook.md: what all of them share, drawn by Apache ECharts into SVG, without a browser. */
import { type EChartsOption, init } from "echarts";

/** A row of a task's answer, by the names of its columns. */
export type Row = Record<string, unknown>;

/** A picture before it is drawn. `titles`: what is seen, and how its marks are read. */
export type Drawing = { titles: [string, string]; option: EChartsOption };

/** Told apart by those who do not see all colours, too: M. Okabe and K. Ito, Color Universal Design (2008). */
export const COLOURS = [
  "#0072b2",
  "#d55e00",
  "#009e73",
  "#cc79a7",
  "#e69f00",
  "#56b4e9",
  "#8a6d00",
  "#444444",
];
export const INK = "#1f2328";
export const GREY = "#6e7781";
export const PALE = "#d0d7de";

export const text = (value: unknown): string => (value === null ? "" : String(value));
export const number = (value: unknown): number | null => (value === null ? null : Number(value));

/** The values of a column, each once, in their order. */
export function valuesOf(rows: readonly Row[], column: string): string[] {
  return [...new Set(rows.map((row) => text(row[column])))];
}

export const colourOf = (place: number): string => COLOURS[place % COLOURS.length] ?? INK;

const SIZE = { width: 820, height: 440 };

const AXIS_NAME = { nameTextStyle: { color: INK, fontSize: 12 }, nameLocation: "middle" } as const;
const AXIS = {
  ...AXIS_NAME,
  axisLabel: { color: INK, fontSize: 12 },
  axisLine: { show: true, lineStyle: { color: GREY } },
  splitLine: { lineStyle: { color: "#eaeef2" } },
};

/** An axis with a name that says the unit. */
export function axis<Kind extends "category" | "value" | "log" | "time">(
  type: Kind,
  name: string,
  { nameGap = 32, ...rest }: { nameGap?: number; [option: string]: unknown } = {},
) {
  return { ...AXIS, type, name, nameGap, ...rest };
}

/** The text of the SVG. It has a background of its own: pages are light or dark. */
export function drawChart({ titles: [title, how], option }: Drawing): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, ...SIZE });
  chart.setOption({
    ...{ animation: false, useUTC: true },
    backgroundColor: "#ffffff",
    color: COLOURS,
    textStyle: { fontFamily: "Helvetica, Arial, sans-serif", color: INK },
    title: [
      {
        ...{ text: title, subtext: how, left: 16, top: 10 },
        ...{ textStyle: { fontSize: 16, color: INK }, subtextStyle: { fontSize: 12, color: GREY } },
      },
      { text: "MADE-UP PRICES", right: 16, top: 12, textStyle: { fontSize: 12, color: "#b42318" } },
    ],
    // Wide gaps: a reader's font may be wider than the one that is reckoned with.
    legend: { top: 58, left: 12, textStyle: { color: INK }, itemGap: 36 },
    grid: { left: 64, right: 24, top: 92, bottom: 56 },
    ...option,
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return plain(svg, title);
}

/** Without what only a browser's pointer needs, and without numbers that count the pictures drawn before. */
function plain(svg: string, title: string): string {
  const text = svg
    .replace(/<style[^]*?<\/style>\n?/, "")
    .replace(/ (class="zr\d+-cls-\d+"|ecmeta_\w+="[^"]*"|pointer-events="\w+")/g, "")
    .replace(/zr\d+-/g, "c-")
    .replace(/(\d\.\d{2})\d+/g, "$1")
    .replace(/ +>/g, ">")
    .replace(/^<svg [^>]*>/, (start) => `${start}\n<title>${title} (made-up prices)</title>`);
  return text.endsWith("\n") ? text : `${text}\n`;
}
