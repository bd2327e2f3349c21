/** Pictures of what the archive has, knew and misses. */
import type { CustomSeriesRenderItem, SeriesOption } from "echarts";
import { axis, COLOURS, type Drawing, INK, number, type Row, text, valuesOf } from "./chart.ts";

/** From whole to worthless; the text of a cell is dark on all of them. */
const SHADES = [
  { gte: 100, label: "all", color: "#c8efd0" },
  { gte: 95, lt: 100, label: "95 % or more", color: "#f1f5c4" },
  { gte: 85, lt: 95, label: "85 % or more", color: "#ffdfa8" },
  { lt: 85, label: "less", color: "#ffb8ae" },
];

export function coverage(rows: readonly Row[]): Drawing {
  const dates = valuesOf(rows, "date").sort();
  const series = valuesOf(rows, "series").sort().reverse();
  const cell = (row: Row) => {
    const why = text(row["most_often"]);
    return {
      value: [dates.indexOf(text(row["date"])), series.indexOf(text(row["series"])), Number(row["percent"])],
      label: {
        show: true,
        color: INK,
        fontSize: 11,
        formatter: `${text(row["percent"])}${why ? `\n${why}` : ""}`,
      },
    };
  };
  return {
    titles: [
      "Can this archive carry a backtest?",
      "Quotes stored, in percent of those that were due, and why most of the others are missing.",
    ],
    option: {
      grid: { left: 108, right: 24, top: 96, bottom: 56 },
      xAxis: axis("category", "Exchange's date", { data: dates.map((date) => date.slice(5)) }),
      yAxis: axis("category", "", { data: series }),
      visualMap: {
        ...{
          type: "piecewise",
          pieces: SHADES,
          dimension: 2,
          orient: "horizontal",
          top: 58,
          left: 12,
          itemGap: 36,
        },
        ...{ textStyle: { color: INK }, itemSymbol: "rect" },
      },
      series: [
        { type: "heatmap", data: rows.map(cell), itemStyle: { borderColor: "#ffffff", borderWidth: 2 } },
      ],
    },
  };
}

export function known(rows: readonly Row[]): Drawing {
  const ordered = [...rows].reverse();
  const isContract = (row: Row): boolean => text(row["instrument"]).includes(":");
  const label = (row: Row): string => {
    const bar = number(row["bar_says"]);
    return `${text(row["bid"])} / ${text(row["ask"])}${bar === null ? "" : `   bar: ${bar.toFixed(2)}`}`;
  };
  return {
    titles: [
      `What was known at ${text(rows[0]?.["known_at"])}?`,
      "How old the newest quote was, its bid / ask, and the close of the bar that was not over yet.",
    ],
    option: {
      grid: { left: 196, right: 150, top: 92, bottom: 56 },
      xAxis: axis("value", "Age of what was known, minutes"),
      yAxis: axis("category", "", { data: ordered.map((row) => text(row["instrument"])) }),
      series: ([false, true] as const).map((contracts): SeriesOption => ({
        ...{ name: contracts ? "contract" : "stock", type: "bar", stack: "age", barWidth: 14 },
        data: ordered.map((row) =>
          isContract(row) === contracts
            ? {
                value: Number(row["age_seconds"]) / 60,
                label: { show: true, position: "right", color: INK, formatter: label(row) },
              }
            : null,
        ),
      })),
    },
  };
}

const DAY_MS = 86_400_000;

export function dividends(rows: readonly Row[]): Drawing {
  const day = (value: unknown): number => Date.parse(`${text(value).slice(0, 10)}T00:00:00Z`);
  const ordered = [...rows].reverse();
  const renderItem: CustomSeriesRenderItem = (_params, api) => {
    const [from = 0, y = 0] = api.coord([api.value(1), api.value(0)]);
    const [until = 0] = api.coord([api.value(2), api.value(0)]);
    const [ex = 0] = api.coord([api.value(3), api.value(0)]);
    const line = (x1: number, x2: number, style: { lineDash?: number[] }) =>
      ({
        type: "line",
        shape: { x1, y1: y, x2, y2: y },
        style: { stroke: COLOURS[0], lineWidth: 3, ...style },
      }) as const;
    const known = Math.min(Math.max(until, from), Math.max(ex, from));
    return {
      type: "group",
      children: [
        ...(ex > known ? [line(known, ex, { lineDash: [3, 4] })] : []),
        line(from, known, {}),
        { type: "circle", shape: { cx: from, cy: y, r: 5 }, style: { fill: COLOURS[0] } },
        {
          type: "polygon",
          shape: {
            points: [
              [ex, y - 7],
              [ex + 7, y],
              [ex, y + 7],
              [ex - 7, y],
            ],
          },
          style: { fill: COLOURS[1] },
        },
      ],
    };
  };
  return {
    titles: [
      "Which dividends were known, and since when?",
      "Circle: first seen. Diamond: ex-date. Solid: what was known. Dotted: replaced by then.",
    ],
    option: {
      grid: { left: 196, right: 32, top: 72, bottom: 56 },
      xAxis: axis("time", "Date", {
        min: ({ min }: { min: number }) => min - 5 * DAY_MS,
        max: ({ max }: { max: number }) => max + 5 * DAY_MS,
        minInterval: 14 * DAY_MS,
        axisLabel: { color: INK, formatter: "{MMM} {d}" },
      }),
      yAxis: axis("category", "", {
        data: ordered.map(
          (row) => `${text(row["symbol"])}  $${text(row["amount"])}  ${text(row["ex_date"])}`,
        ),
        splitLine: { show: true, lineStyle: { color: "#eaeef2" } },
      }),
      series: [
        {
          ...{ type: "custom", renderItem, encode: { x: [1, 3], y: 0 } },
          data: ordered.map((row, place) => [
            place,
            day(row["seen"]),
            day(row["until"] ?? row["ex_date"]),
            day(row["ex_date"]),
          ]),
        },
      ],
    },
  };
}
