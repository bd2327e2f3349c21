/** The page's own line to its server: what is known of it now. `line.ts` decides, `pageFeed.ts` opens the stream. */
import { computed, signal } from "@preact/signals";
import { pageMs } from "./pageClock.ts";
import { answered, beginLine, broke, ended, heard, type Line, look, opening } from "./line.ts";

const LOOK_EVERY_MS = 1_000;

const line = signal(beginLine(pageMs()));

export const sight = computed(() => line.value.sight);

/** When the last event arrived, by the page's clock, epoch ms; null: none has. */
export const heardMs = computed(() => line.value.heardMs);

/** How often the server was heard again after the line was lost: what was read before may be old. */
export const comebacks = signal(0);

const CHANGES = { heard, answered, broke, ended, opening } satisfies Record<
  string,
  (line: Line, nowMs: number) => Line
>;

export function note(change: keyof typeof CHANGES): void {
  const { sight: before, brokeMs } = line.value;
  line.value = CHANGES[change](line.value, pageMs());
  if (change === "heard" && (before === "stale" || before === "away" || brokeMs !== null)) comebacks.value++;
}

/** Looks every second, and when somebody turns to the page. @param reopen opens the stream again */
export function watchLine(reopen: () => void): void {
  const lookNow = (woken: boolean): void => {
    const looked = look(line.value, pageMs(), { woken });
    line.value = looked.line;
    if (looked.reopen) reopen();
  };
  setInterval(() => lookNow(false), LOOK_EVERY_MS);
  const wake = (): void => void (document.visibilityState === "visible" && lookNow(true));
  document.addEventListener("visibilitychange", wake);
  for (const event of ["online", "pageshow", "focus"]) addEventListener(event, wake);
}
