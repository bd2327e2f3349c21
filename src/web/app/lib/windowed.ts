/** Of thousands of rows, those that can be seen are drawn. */
import { useEffect, useState } from "preact/hooks";

/** Rows drawn above and below those that are seen: who scrolls meets no empty place. */
const AROUND = 8;

/** Rows from one place up to, without, another. */
type Window = { from: number; to: number };

/** Pure. @param options.top pixels that are scrolled away, `height` of what is seen and of a row */
export function windowOf({
  top,
  height,
  rowHeight,
  count,
}: {
  top: number;
  height: number;
  rowHeight: number;
  count: number;
}): Window {
  const first = Math.max(
    0,
    Math.min(Math.floor(top / rowHeight), count - Math.ceil(height / rowHeight)) - AROUND,
  );
  return { from: first, to: Math.min(count, first + Math.ceil(height / rowHeight) + 2 * AROUND + 1) };
}

/** Follows an element that scrolls. @param rowHeight of each row, pixels */
export function useWindow(
  element: { current: HTMLElement | null },
  { rowHeight, count }: { rowHeight: number; count: number },
): Window {
  const [seen, setSeen] = useState({ first: 0, height: 600 });
  useEffect(() => {
    const scroller = element.current;
    if (!scroller) return;
    const look = (): void => {
      const first = Math.floor(scroller.scrollTop / rowHeight);
      const height = scroller.clientHeight;
      setSeen((before) => (before.first === first && before.height === height ? before : { first, height }));
    };
    const observer = new ResizeObserver(look);
    observer.observe(scroller);
    scroller.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", look);
    };
  }, [rowHeight]);
  return windowOf({ top: seen.first * rowHeight, height: seen.height, rowHeight, count });
}
