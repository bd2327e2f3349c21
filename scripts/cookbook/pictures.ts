/** The pictures of docs/cookbook.md, each made of the rows that its task's statement gives. */
import type { CustomSeriesOption, CustomSeriesRenderItem, SeriesOption } from "echarts";
import { axis, COLOURS, type Drawing, GREY, INK, PALE, type Row } from "./chart.ts";

/** By the name of the file in docs/images/cookbook/. */
export const PICTURES: Record<string, (rows: readonly Row[]) => Drawing> = {
  "spread.svg": spread,
  "parity.svg": parity,
  "smile.svg": smile,
  "coverage.svg": coverage,
  "known.svg": known,
  "dividends.svg": dividends,
  "term.svg": term,
  "volatility.svg": volatility,
};

const text = (value: unknown): string => (value === null ? "" : String(value));
const number = (value: unknown): number | null => (value === null ? null : Number(value));

/** The values of a column, each once, in their order. */
function valuesOf(rows: readonly Row[], column: string): string[] {
  return [...new Set(rows.map((row) => text(row[column])))];
}

const colourOf = (place: number): string => COLOURS[place % COLOURS.length] ?? INK;

function spread(rows: readonly Row[]): Drawing {
  const times = valuesOf(rows, "new_york").sort();
  const series = valuesOf(rows, "symbol").flatMap((symbol, place): SeriesOption[] => {
    const own = new Map(rows.filter((row) => row["symbol"] === symbol).map((row) => [row["new_york"], row]));
    const line = (column: string) => times.map((time) => number(own.get(time)?.[column] ?? null));
    const look = { type: "line", symbol: "none", color: colourOf(place) } as const;
    return [
      { ...look, name: symbol, data: line("median"), lineStyle: { width: 2.5 } },
      { ...look, name: symbol, data: line("p95"), lineStyle: { width: 1.2, type: "dotted" } },
    ];
  });
  return {
    titles: [
      "How wide is the spread through the day?",
      "Solid: the median of a quarter of an hour. Dotted: its 95th percentile.",
    ],
    option: {
      xAxis: axis("category", "New York time", {
        data: times,
        axisLabel: { interval: 1, color: INK },
        boundaryGap: false,
      }),
      yAxis: axis("log", "Spread, basis points of the middle (log scale)", { logBase: 2, nameGap: 40 }),
      series,
    },
  };
}

/** A mark for each row that stands up between two of its columns. */
function standing(
  name: string,
  data: (number | null)[][],
  look: { colour: string; width: number },
): CustomSeriesOption {
  const renderItem: CustomSeriesRenderItem = (_params, api) => {
    const [x = 0, top = 0] = api.coord([api.value(0), api.value(2)]);
    const [, bottom = 0] = api.coord([api.value(0), api.value(1)]);
    return {
      type: "rect",
      shape: { x: x - look.width / 2, y: top, width: look.width, height: Math.max(1, bottom - top) },
      style: { fill: look.colour },
    };
  };
  return {
    name,
    type: "custom",
    renderItem,
    data: data as number[][],
    color: look.colour,
    encode: { x: 0, y: [1, 2] },
  };
}

/** Two quotes further apart than this were not of one market. */
const APART_SECONDS = 60;

function parity(rows: readonly Row[]): Drawing {
  const kindOf = (row: Row): string =>
    Number(row["seconds_apart"]) > APART_SECONDS
      ? "quoted at different times"
      : text(row["trade"]) === ""
        ? "no violation"
        : `violation: ${text(row["trade"])} the synthetic`;
  const strikes = valuesOf(rows, "strike").sort((a, b) => Number(a) - Number(b));
  const wide = 660 / Math.max(1, strikes.length);
  const at = (row: Row) => strikes.indexOf(text(row["strike"]));
  const colours = new Map([
    ["no violation", COLOURS[0]],
    ["quoted at different times", GREY],
  ]);
  const kinds = [...new Set(rows.map(kindOf))].sort();
  return {
    titles: [
      "Where does put-call parity gape?",
      `${text(rows[0]?.["underlying"])}, ${text(rows[0]?.["expiration"])}. A bar from bid to ask that does not touch the grey band is a violation.`,
    ],
    option: {
      xAxis: axis("category", "Strike, $", { data: strikes.map((strike) => String(Number(strike))) }),
      yAxis: axis("value", "Synthetic less forward, $ per share", { nameGap: 40 }),
      series: [
        standing(
          "no arbitrage",
          rows.map((row) => [at(row), number(row["least"]), 0]),
          { colour: PALE, width: wide },
        ),
        ...kinds.map((kind) =>
          standing(
            kind,
            rows
              .filter((row) => kindOf(row) === kind)
              .map((row) => [at(row), number(row["bid"]), number(row["ask"])]),
            { colour: colours.get(kind) ?? colourOf(1), width: wide / 3 },
          ),
        ),
      ],
    },
  };
}

function smile(rows: readonly Row[]): Drawing {
  const times = valuesOf(rows, "new_york");
  const spot = Number(rows.at(-1)?.["spot"]);
  return {
    titles: [
      "How does the smile move through a day?",
      `${text(rows[0]?.["underlying"])}, ${text(rows[0]?.["expiration"])}, contracts out of the money, by the New York time.`,
    ],
    option: {
      xAxis: axis("value", "Strike, $", { scale: true }),
      yAxis: axis("value", "Implied volatility by the middle, % per year", { scale: true, nameGap: 40 }),
      series: times.map((time, place): SeriesOption => ({
        ...{ name: time, type: "line", color: colourOf(place), symbolSize: 5, lineStyle: { width: 2 } },
        data: rows
          .filter((row) => row["new_york"] === time)
          .map((row) => [number(row["strike"]), number(row["iv_mid"])]),
        // Where the stock was at the last of them.
        ...(place === times.length - 1 && {
          markLine: {
            ...{ symbol: "none", silent: true, data: [{ xAxis: spot }], lineStyle: { color: GREY } },
            label: { formatter: `spot ${spot.toFixed(2)}`, color: GREY },
          },
        }),
      })),
    },
  };
}

/** From whole to worthless; the text of a cell is dark on all of them. */
const SHADES = [
  { gte: 100, label: "all", color: "#c8efd0" },
  { gte: 95, lt: 100, label: "95 % or more", color: "#f1f5c4" },
  { gte: 85, lt: 95, label: "85 % or more", color: "#ffdfa8" },
  { lt: 85, label: "less", color: "#ffb8ae" },
];

function coverage(rows: readonly Row[]): Drawing {
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

function known(rows: readonly Row[]): Drawing {
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

function dividends(rows: readonly Row[]): Drawing {
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

function term(rows: readonly Row[]): Drawing {
  return {
    titles: [
      "What is the term structure of implied volatility?",
      "At the strike nearest to the money. Line: by the middle. Upright bars: from bid to ask.",
    ],
    option: {
      xAxis: axis("value", "Days to expiration"),
      yAxis: axis("value", "Implied volatility, % per year", { scale: true, nameGap: 40 }),
      series: valuesOf(rows, "underlying").flatMap((underlying, place): SeriesOption[] => {
        const own = rows.filter((row) => row["underlying"] === underlying);
        const look = { colour: colourOf(place), width: 7 };
        return [
          {
            ...{
              name: underlying,
              type: "line",
              color: look.colour,
              symbol: "none",
              lineStyle: { width: 2 },
            },
            data: own.map((row) => [number(row["days"]), number(row["iv_mid"])]),
          },
          standing(
            underlying,
            own.map((row) => [number(row["days"]), number(row["iv_bid"]), number(row["iv_ask"])]),
            look,
          ),
        ];
      }),
    },
  };
}

function volatility(rows: readonly Row[]): Drawing {
  const column = (name: string) => rows.map((row) => number(row[name]));
  return {
    titles: [
      "Is implied volatility more than what was realized?",
      `${text(rows[0]?.["symbol"])}. Implied: at the close, of the expiration nearest to 30 days.`,
    ],
    option: {
      xAxis: axis("category", "Exchange's date", { data: rows.map((row) => text(row["date"]).slice(5)) }),
      yAxis: axis("value", "Volatility, % per year of 252 sessions", { nameGap: 40 }),
      series: [
        {
          name: "realized, session alone",
          type: "bar",
          data: column("intraday"),
          color: PALE,
          barWidth: "45%",
        },
        {
          name: "realized, five sessions and their nights",
          type: "line",
          data: column("realized"),
          color: colourOf(1),
          symbolSize: 6,
        },
        { name: "implied", type: "line", data: column("implied"), color: colourOf(0), symbolSize: 6 },
      ],
    },
  };
}
