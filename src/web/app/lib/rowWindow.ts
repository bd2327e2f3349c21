/** Which rows of a long table are drawn: those in sight and some around them, and the one that has the focus. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** Rows drawn above and below those in sight. */
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
export function pieces(count: number, window: { from: number; to: number }, focused: number | null): Piece[] {
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

/**
 * Follows what is in sight, whatever scrolls: the page, or a box around the table.
 *
 * @param body the rows' parent, in which each drawn row has `data-row`; all rows are of one height
 */
export function useRowWindow(body: RefObject<HTMLElement | null>, count: number) {
  const [seen, setSeen] = useState({ from: 0, to: 40, height: USUAL_HEIGHT });
  const look = (): void => {
    const host = body.current;
    const row = host?.querySelector("[data-row]");
    if (!host || !row) return;
    const box = host.closest(".scroll")?.getBoundingClientRect();
    const { top } = host.getBoundingClientRect();
    const height = row.getBoundingClientRect().height || USUAL_HEIGHT;
    const first = (Math.max(0, box?.top ?? 0) - top) / height;
    const last = (Math.min(innerHeight, box?.bottom ?? innerHeight) - top) / height;
    const from = Math.max(0, Math.floor(first) - AROUND);
    const to = Math.max(from + 1, Math.ceil(last) + AROUND);
    setSeen((before) =>
      before.from === from && before.to === to && before.height === height ? before : { from, to, height },
    );
  };
  useLayoutEffect(look, [count]);
  useLayoutEffect(() => {
    // Scrolling does not bubble.
    document.addEventListener("scroll", look, { capture: true, passive: true });
    addEventListener("resize", look);
    return () => {
      document.removeEventListener("scroll", look, { capture: true });
      removeEventListener("resize", look);
    };
  }, []);
  return seen;
}
