/** What the window is like: in one as narrow as a phone's or a small tablet's, tables have another layout. */
import { type ReadonlySignal, signal } from "@preact/signals";

/** Whether the window is as the query says; it follows the window. */
export function follow(text: string): ReadonlySignal<boolean> {
  const query = matchMedia(text);
  const matches = signal(query.matches);
  query.addEventListener("change", () => (matches.value = query.matches));
  return matches;
}

export const narrow = follow("(max-width: 860px)");

/** As narrow as a phone: a row of the watch table has several lines. */
export const slim = follow("(max-width: 700px)");
