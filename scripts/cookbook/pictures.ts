/** The pictures of docs/cookbook.md, each made of the rows that its task's statement gives. */
import type { CustomSeriesOption, CustomSeriesRenderItem, SeriesOption } from "echarts";
import {
  axis,
  colourOf,
  COLOURS,
  type Drawing,
  GREY,
  INK,
  number,
  PALE,
  type Row,
  text,
  valuesOf,
} from "./chart.ts";
import { coverage, dividends, known } from "./recordPictures.ts";

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
