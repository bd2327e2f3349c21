/**
 * What Chromium's Performance panel records: a trace, and what the panel adds up of it. The names of events are those of
 * Chromium's `devtools.timeline`; their times are microseconds.
 */
import type { CDPSession } from "playwright-core";

/** One event of a trace; `X` is a span, with its duration. */
export type TraceEvent = {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  args?: { name?: string; data?: { jsHeapSizeUsed?: number } };
};

const CATEGORIES = [
  ...[
    "devtools.timeline",
    "v8.execute",
    "blink.user_timing",
    "loading",
    "disabled-by-default-devtools.timeline",
  ],
  ...["disabled-by-default-devtools.timeline.frame", "disabled-by-default-v8.compile", "__metadata"],
];

/** The panel's colours: what an event's own time is for. All others are loading, idle, or the system's. */
const KINDS: readonly [kind: "scripting" | "rendering" | "painting", names: RegExp][] = [
  [
    "scripting",
    /^(EvaluateScript|FunctionCall|EventDispatch|TimerFire|FireAnimationFrame|FireIdleCallback|RunMicrotasks|V8\.|v8\.|M[ai][jn]orGC|BlinkGC|XHR|CpuProfiler)/,
  ],
  [
    "rendering",
    /^(UpdateLayoutTree|Layout|PrePaint|HitTest|InvalidateLayout|IntersectionObserver|ParseAuthorStyleSheet)/,
  ],
  ["painting", /^(Paint|Layerize|Commit|CompositeLayers|UpdateLayer|RasterTask|Decode|ImageDecode)/],
];

/** What the panel says of a stretch; times in ms of the page's own thread. */
export type PanelFigures = {
  scripting: number;
  rendering: number;
  painting: number;
  longestTask: number;
  /** Frames that were drawn, and those that were not in time. */
  drawn: number;
  dropped: number;
  /** The largest heap, MB. */
  heapMb: number;
};

/** Records what happens in the whole browser meanwhile. */
export async function recordTrace(browser: CDPSession, work: () => Promise<void>): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  const collect = ({ value }: { value: object[] }): void => void events.push(...(value as TraceEvent[]));
  browser.on("Tracing.dataCollected", collect);
  await browser.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: CATEGORIES, recordMode: "recordAsMuchAsPossible" },
  });
  try {
    await work();
  } finally {
    const complete = new Promise((resolve) => browser.once("Tracing.tracingComplete", resolve));
    await browser.send("Tracing.end");
    await complete;
    browser.off("Tracing.dataCollected", collect);
  }
  return events;
}

/** Adds up one page of a trace. @param mark the name of a `performance.mark` that the page set in the stretch */
export function figuresOf(events: readonly TraceEvent[], mark: string): PanelFigures {
  const pid = events.find(({ name }) => name === mark)?.pid;
  const main = events.find(
    (event) => event.pid === pid && event.name === "thread_name" && event.args?.name === "CrRendererMain",
  );
  const own = events.filter((event) => event.pid === pid);
  const spans = own.filter(({ tid, ph, dur }) => tid === main?.tid && ph === "X" && dur !== undefined);
  const times = { scripting: 0, rendering: 0, painting: 0 };
  for (const { name, ownUs } of ownTimes(spans)) {
    const kind = KINDS.find(([, names]) => names.test(name))?.[0];
    if (kind) times[kind] += ownUs / 1_000;
  }
  const heaps = own.map(({ args }) => args?.data?.jsHeapSizeUsed ?? 0);
  const count = (name: string): number => own.filter((event) => event.name === name).length;
  return {
    ...times,
    longestTask: most(spans.filter(({ name }) => name === "RunTask").map(({ dur = 0 }) => dur / 1_000)),
    ...{ drawn: count("DrawFrame"), dropped: count("DroppedFrame"), heapMb: most(heaps) / 1e6 },
  };
}

/** Each span's time without that of those within it. */
function ownTimes(spans: readonly TraceEvent[]): { name: string; ownUs: number }[] {
  const open: { name: string; ownUs: number; endUs: number }[] = [];
  return [...spans]
    .sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))
    .map(({ name, ts, dur = 0 }) => {
      while (open.length > 0 && (open.at(-1)?.endUs ?? 0) <= ts) open.pop();
      const parent = open.at(-1);
      if (parent) parent.ownUs -= dur;
      const span = { name, ownUs: dur, endUs: ts + dur };
      open.push(span);
      return span;
    });
}

function most(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => Math.max(all, each), 0);
}
