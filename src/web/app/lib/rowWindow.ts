/** Which rows of a long table are drawn: those in sight, and some around them; all rows are of one height. */
import { type ComponentChildren, createElement, Fragment, type RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

const AROUND = 8;

/** Height of a row until one was drawn, px. */
const USUAL_HEIGHT = 30;

/** Rows from one place up to, without, another. */
type Window = { from: number; to: number };

/** What is in sight: where it begins below the first row's top, where it ends, and the height of a row, px. */
type Sight = { top: number; bottom: number; height: number };

/** Which rows are drawn. Pure. */
export function windowOf({ top, bottom, height }: Sight, count: number): Window {
  const room = Math.ceil((bottom - top) / height);
  // Who had scrolled far sees the last rows when there are fewer.
  const first = Math.min(Math.floor(top / height), count - room);
  const from = Math.max(0, first - AROUND);
  return { from, to: Math.min(count, Math.max(from, first + room + 1) + AROUND) };
}

/**
 * A name for the place of a drawn row: rows that come into sight have those of rows that have left it, so that their elements are
 * used again. Pure.
 */
export function slotOf(place: number, { from, to }: Window): number {
  // In steps: the window's length changes by one all the time.
  return place % (32 * Math.ceil((to - from + 1) / 32));
}

/**
 * Follows what is in sight, whatever scrolls: the page, or a box around the rows.
 *
 * @param body the rows' parent, in which each drawn row has `data-row`
 */
export function useRowWindow(
  body: RefObject<HTMLElement | null>,
  count: number,
): Window & { height: number } {
  const [seen, setSeen] = useState<Sight>({ top: 0, bottom: 32 * USUAL_HEIGHT, height: USUAL_HEIGHT });
  const look = (): void => {
    const row = body.current?.querySelector("[data-row]");
    if (!body.current || !row) return;
    const box = body.current.closest(".scroll")?.getBoundingClientRect();
    const start = body.current.getBoundingClientRect().top;
    const height = row.getBoundingClientRect().height || USUAL_HEIGHT;
    // Whole rows: nothing is drawn anew within one.
    const top = Math.floor((Math.max(0, box?.top ?? 0) - start) / height) * height;
    const bottom = Math.ceil((Math.min(innerHeight, box?.bottom ?? innerHeight) - start) / height) * height;
    setSeen((old) =>
      old.top === top && old.bottom === bottom && old.height === height ? old : { top, bottom, height },
    );
  };
  useLayoutEffect(look, [count]);
  useLayoutEffect(() => {
    const end = new AbortController();
    // Scrolling does not bubble.
    document.addEventListener("scroll", look, { capture: true, passive: true, signal: end.signal });
    addEventListener("resize", look, { signal: end.signal });
    return () => end.abort();
  }, []);
  return { ...windowOf(seen, count), height: seen.height };
}

type RowsProps = {
  window: Window & { height: number };
  count: number;
  /** Place of a row that is drawn wherever it is. */
  focused?: number;
  children: (place: number) => ComponentChildren;
};

/** The rows that are drawn, and the room of those that are not. */
export function Rows({ window: { from, to, height }, count, focused = from, children }: RowsProps) {
  const places = Array.from({ length: to - from }, (_, index) => from + index);
  if (focused < from) places.unshift(focused);
  if (focused >= to) places.push(focused);
  let next = 0;
  const pieces = [...places, count].flatMap((place) => {
    const room = place - next;
    next = place + 1;
    const style = { height: `${room * height}px` };
    return [
      room > 0 && createElement("tr", { "aria-hidden": true, style }),
      place < count && children(place),
    ];
  });
  return createElement(Fragment, null, pieces);
}
