/** Which rows of a long table are drawn: those in sight and some around them, and the one that has the focus. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

const AROUND = 8;

/** Height of a row until one was drawn, px. */
const USUAL_HEIGHT = 30;

/** What stands in a table: a row by its place, or the room of rows that are not drawn. */
type Piece = { row: number } | { room: number };

/**
 * The pieces of a table, in order. Pure.
 *
 * @param window.from first row drawn; `to`: first one that is not
 * @param focused place of a row that is drawn wherever it is; null: none
 */
export function pieces(count: number, window: Window, focused: number | null): Piece[] {
  const from = Math.min(Math.max(0, window.from), Math.max(0, count - 1));
  const to = Math.min(count, Math.max(from, window.to));
  const drawn = Array.from({ length: to - from }, (_, place) => from + place);
  if (focused !== null && focused < from) drawn.unshift(focused);
  if (focused !== null && focused >= to && focused < count) drawn.push(focused);
  const all: Piece[] = [];
  let next = 0;
  for (const row of drawn) {
    if (row > next) all.push({ room: row - next });
    all.push({ row });
    next = row + 1;
  }
  if (next < count) all.push({ room: count - next });
  return all;
}

/** Rows from one place up to, without, another. */
type Window = { from: number; to: number };

/**
 * Which rows are drawn. Pure.
 *
 * @param sight.top where what is seen begins below the first row's top, `bottom`: where it ends, px; `height` of a row
 */
export function windowOf(
  { top, bottom, height }: Record<"top" | "bottom" | "height", number>,
  count: number,
): Window {
  // Who had scrolled far sees the last rows when there are fewer.
  const least = Math.min(Math.floor(top / height), count - Math.ceil((bottom - top) / height));
  const from = Math.max(0, least - AROUND);
  return {
    from,
    to: Math.min(count, Math.max(from, least + Math.ceil((bottom - top) / height) + 1) + AROUND),
  };
}

/**
 * A name for the place of a drawn row: rows that come into sight have those of rows that have left it, so that their
 * elements are used again. Pure.
 */
export function slotOf(row: number, { from, to }: Window): number {
  // In steps: the window's length changes by one all the time.
  return row % (32 * Math.ceil((to - from + 1) / 32));
}

/**
 * Follows what is in sight, whatever scrolls: the page, or a box around the rows.
 *
 * @param body the rows' parent, in which each drawn row has `data-row`; all rows are of one height
 * @param lines of a row: with another number they have another height
 */
export function useRowWindow(
  body: RefObject<HTMLElement | null>,
  count: number,
  lines = 1,
): Window & { height: number } {
  const [seen, setSeen] = useState({ top: 0, bottom: 32 * USUAL_HEIGHT, height: USUAL_HEIGHT });
  const look = (): void => {
    const host = body.current;
    const row = host?.querySelector("[data-row]");
    if (!host || !row) return;
    const box = host.closest(".scroll")?.getBoundingClientRect();
    const { top: first } = host.getBoundingClientRect();
    const height = row.getBoundingClientRect().height || USUAL_HEIGHT;
    // Whole rows: nothing is drawn anew within one.
    const top = Math.floor((Math.max(0, box?.top ?? 0) - first) / height) * height;
    const bottom = Math.ceil((Math.min(innerHeight, box?.bottom ?? innerHeight) - first) / height) * height;
    setSeen((before) =>
      before.top === top && before.bottom === bottom && before.height === height
        ? before
        : { top, bottom, height },
    );
  };
  useLayoutEffect(look, [count, lines]);
  useLayoutEffect(() => {
    // Scrolling does not bubble.
    document.addEventListener("scroll", look, { capture: true, passive: true });
    addEventListener("resize", look);
    return () => {
      document.removeEventListener("scroll", look, { capture: true });
      removeEventListener("resize", look);
    };
  }, []);
  return { ...windowOf(seen, count), height: seen.height };
}
